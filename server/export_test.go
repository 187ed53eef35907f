package server

// MaxLongOf is how many long notices of one network may arrive at one time.
const MaxLongOf = maxLongOf

// Stored is how many tasks the sources have made of messages: the figure of GET
// /v1/sources, for who asks too often to ask over HTTP.
func (s *Server) Stored() (n int) {
	for _, from := range s.sources {
		n += int(from.Info().Stored)
	}
	return n
}
