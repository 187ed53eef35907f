package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// A progress shows how far a command is: on a terminal in one line that changes, elsewhere in a new
// line each ten seconds.
type progress struct {
	out      io.Writer
	terminal bool
}

func progressTo(out io.Writer) progress {
	f, is := out.(*os.File)
	if !is {
		return progress{out: out}
	}
	info, err := f.Stat()
	return progress{out, err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// every returns the time between two lines; often is that on a terminal.
func (p progress) every(often time.Duration) time.Duration {
	if p.terminal {
		return often
	}
	return 10 * time.Second
}

func (p progress) show(line string) {
	if p.clear(); p.terminal {
		fmt.Fprint(p.out, line)
	} else {
		fmt.Fprintln(p.out, line)
	}
}

// clear removes the line of a terminal.
func (p progress) clear() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
