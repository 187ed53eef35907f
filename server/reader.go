package server

import (
	"net/http"
	"time"
)

// writeAnswer is how long a caller may take to read an answer, from its first byte. Streams and
// exports set a deadline of their own for each part.
const writeAnswer = time.Minute

// untilRead ends the connections of callers that do not read their answers. http.Server's
// WriteTimeout would not do: it counts from the request, and a settle waits a minute itself.
func untilRead(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&answer{ResponseWriter: w}, r)
	})
}

// An answer has a deadline from its first byte on.
type answer struct {
	http.ResponseWriter
	begun bool
}

func (a *answer) WriteHeader(status int) {
	a.begin()
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(b)
}

func (a *answer) begin() {
	if !a.begun {
		a.begun = true
		http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(writeAnswer))
	}
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
