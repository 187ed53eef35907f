// Package coded makes errors with a code and arguments, so that the console can show them in
// another language. Their text is English, for logs and the API.
package coded

import (
	"fmt"
	"regexp"
	"strings"
)

// An Error is an error with a code.
type Error struct {
	Code string // kind of mistake, such as schedule.item

	format string
	args   []any
	err    error
}

// Errorf returns an *[Error] with a code, and with the text that [fmt.Errorf] makes.
func Errorf(code, format string, args ...any) error {
	return &Error{code, format, args, fmt.Errorf(format, args...)}
}

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error that [fmt.Errorf] made.
func (e *Error) Unwrap() error { return e.err }

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z%]`)

// Args returns the arguments in the order of the text. Errors stay errors; every other argument is
// the string that the text contains.
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
