package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// wrong is a mistake in the command line or in the configuration. All errors before a command runs,
// of its flags and arguments, count as such.
type wrong struct{ error }

func (w wrong) Unwrap() error { return w.error }

// failed is an error of a command that ran.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// foreign is an error of the database of another system, from which tasks are imported.
type foreign struct{ error }

func (f foreign) Unwrap() error { return f.error }

// exitStatus returns 0 for success, 1 for a failure, 2 for wrong usage or configuration.
func exitStatus(err error) int {
	var problems config.Problems
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed{}) && !errors.As(err, &problems):
		return 1
	default:
		return 2
	}
}

// report writes an error of a command in one line: what is wrong, and what to do. Only a
// configuration may have several mistakes, each in a line of its own.
func report(w io.Writer, c *cobra.Command, err error) {
	if problems, is := errors.AsType[config.Problems](err); is {
		for _, p := range problems {
			fmt.Fprintln(w, p)
		}
		return
	}
	text := strings.TrimPrefix(err.Error(), "bellman: ")
	if p, is := errors.AsType[*client.Problem](err); is { // a command has flags, and no body
		for _, f := range p.Errors {
			text = strings.Replace(text, "; "+f.Location+": ", "; "+strings.TrimPrefix(f.Location, "body.")+": ", 1)
		}
	}
	text, more, _ := strings.Cut(text, "\n")
	if _, like, found := strings.Cut(more, "Did you mean this?"); found { // cobra's list of similar commands
		text += ": did you mean " + strings.Join(strings.Fields(like), ", ") + "?"
	}
	say(w, "bellman: %s", text+advice(c, err))
}

// advice returns what to do about an error whose text does not say so; else empty.
func advice(c *cobra.Command, err error) string {
	_, unresolved := errors.AsType[*net.DNSError](err)
	if _, is := errors.AsType[*server.UnopenedError](err); is {
		return "" // the error itself says what to do
	}
	switch status := client.StatusOf(err); {
	case status == 401:
		return ": give a key with --key or BELLMAN_KEY"
	case status == 403:
		return ": give another key with --key or BELLMAN_KEY"
	case errors.As(err, &foreign{}):
		if errors.Is(err, syscall.ECONNREFUSED) || unresolved {
			return ": start that database, or name another with --from"
		}
	case errors.Is(err, syscall.ECONNREFUSED), unresolved:
		return ": start a server with bellman serve, or name it with --server or BELLMAN_SERVER"
	case errors.Is(err, syscall.EADDRINUSE):
		return ": stop what listens there, or choose another address with --listen"
	case strings.Contains(err.Error(), ": see bellman "): // the error itself says what to do
	case errors.As(err, &failed{}), errors.As(err, &wrong{}):
	case c.HasParent():
		return ": see " + c.CommandPath() + " --help"
	default:
		return ": see bellman help"
	}
	return ""
}
