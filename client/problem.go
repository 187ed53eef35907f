package client

import (
	"fmt"
	"strings"
	"time"
)

// A Problem is an error answer of the API (RFC 9457).
type Problem struct {
	Type     string  `json:"type,omitempty" doc:"Absent: about:blank; the status says everything."`
	Title    string  `json:"title"`
	Status   int     `json:"status"`
	Detail   string  `json:"detail,omitempty"`
	Instance string  `json:"instance,omitempty" doc:"The task that the problem is about: the one that has the key."`
	Errors   []Fault `json:"errors,omitempty" nullable:"false" doc:"Every wrong field."`

	// RetryAfter is the answer's Retry-After header; 0 if it has none.
	RetryAfter time.Duration `json:"-"`
}

// A Fault says what is wrong with one field, and what would be right.
type Fault struct {
	Location string `json:"location" example:"body.schedule"`
	Message  string `json:"message"`
}

// Error returns status, detail and every wrong field in one line.
func (p *Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bellman: %d %s", p.Status, p.Title)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	for _, f := range p.Errors {
		b.WriteString("; " + f.Location + ": " + f.Message)
	}
	return b.String()
}

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of problem documents.
func (p *Problem) ContentType(string) string { return "application/problem+json" }
