// Package coded makes errors that have a code beside their text, so that whoever shows
// them to people can say the same in another language. The text is English: it is what
// logs and the API show.
package coded

import (
	"fmt"
	"regexp"
	"strings"
)

// An Error says what is wrong.
type Error struct {
	Code string // what is wrong, whatever with: schedule.item

	format string
	args   []any
	err    error
}

// Errorf returns an *[Error] with a code, and with the text that [fmt.Errorf] makes.
func Errorf(code, format string, args ...any) error {
	return &Error{code, format, args, fmt.Errorf(format, args...)}
}

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns what the format wraps.
func (e *Error) Unwrap() error { return e.err }

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z%]`)

// Args are what the text is about, in its order, each as the text has it: a string, or
// the error that it is.
func (e *Error) Args() []any {
	args := make([]any, 0, len(e.args))
	for _, v := range verb.FindAllString(e.format, -1) {
		if strings.HasSuffix(v, "%") {
			continue
		}
		arg := e.args[len(args)]
		if _, is := arg.(error); !is {
			arg = fmt.Sprintf(v, arg)
		}
		args = append(args, arg)
	}
	return args
}
