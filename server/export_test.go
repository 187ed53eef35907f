package server

// MaxLongOf is how many long notices of one network may arrive at one time.
const MaxLongOf = maxLongOf

// Stored returns how many tasks the sources have made of messages: the figure of GET /v1/sources,
// for tests that read it too often for HTTP.
func (s *Server) Stored() (n int) {
	for _, from := range s.sources {
		n += int(from.Info().Stored)
	}
	return n
}
