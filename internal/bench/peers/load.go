package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

const (
	bodyBytes = 300
	digits    = 8 // with which a body begins: its task's number
)

var filler = strings.Repeat("x", bodyBytes-digits)

// body is a task's.
func body(number int) string { return fmt.Sprintf("%0*d%s", digits, number, filler) }

// A load is a number of tasks and when each arrived first, in Unix ns.
type load struct {
	at      []atomic.Int64
	arrived atomic.Int64
	twice   atomic.Int64
	first   atomic.Int64
	all     chan struct{}
}

func newLoad(tasks int) *load {
	return &load{at: make([]atomic.Int64, tasks), all: make(chan struct{})}
}

// arrive notes the task of a body.
func (l *load) arrive(body []byte, now int64) {
	n, err := strconv.Atoi(string(body[:digits]))
	if err != nil || n < 0 || n >= len(l.at) {
		return
	}
	l.first.CompareAndSwap(0, now)
	if !l.at[n].CompareAndSwap(0, now) {
		l.twice.Add(1)
		return
	}
	if l.arrived.Add(1) == int64(len(l.at)) {
		close(l.all)
	}
}
