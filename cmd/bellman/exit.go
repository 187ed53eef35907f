package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/server"
)

// wrong is an error of whoever typed the command, or wrote the configuration.
// Errors that come before a command runs, of flags and arguments, are such too.
type wrong struct{ error }

func (w wrong) Unwrap() error { return w.error }

// failed is an error of a command that ran.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// foreign is an error of another system's database, which no server of ours is.
type foreign struct{ error }

func (f foreign) Unwrap() error { return f.error }

// exitStatus is 0: done, 1: failed, 2: wrong usage or configuration.
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

// report writes an error in one line: what, and what to do. Only a
// configuration has several mistakes, each in a line of its own.
func report(w io.Writer, err error) {
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Fprintln(w, p)
		}
		return
	}
	text := strings.TrimPrefix(err.Error(), "bellman: ")
	text, more, _ := strings.Cut(text, "\n")
	if _, like, found := strings.Cut(more, "Did you mean this?"); found { // as cobra lists commands
		text += ": did you mean " + strings.Join(strings.Fields(like), ", ") + "?"
	}
	fmt.Fprintln(w, "bellman: "+text+advice(err))
}

// advice says what to do about an error that does not say so itself.
func advice(err error) string {
	var unresolved *net.DNSError
	if unopened := (*server.UnopenedError)(nil); errors.As(err, &unopened) {
		return "" // it says so itself
	}
	switch status := client.StatusOf(err); {
	case status == 401:
		return ": give a key with --key or BELLMAN_KEY"
	case status == 403:
		return ": give the key of a role that may, with --key or BELLMAN_KEY"
	case errors.As(err, &foreign{}):
		if errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &unresolved) {
			return ": start that database, or name another with --from"
		}
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &unresolved):
		return ": start a server with bellman serve, or name it with --server or BELLMAN_SERVER"
	case errors.Is(err, syscall.EADDRINUSE):
		return ": stop what listens there, or choose another address with --listen"
	case strings.Contains(err.Error(), ": see bellman "): // it says so itself
	case !errors.As(err, &failed{}) && !errors.As(err, &wrong{}):
		return ": see bellman help"
	}
	return ""
}
