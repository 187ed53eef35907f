package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A receiver answers success to everything, and notes what arrived when.
type receiver struct {
	url    string
	server *http.Server
	load   atomic.Pointer[load]
}

var buffers = sync.Pool{New: func() any { return new([bodyBytes]byte) }}

func newReceiver() (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{url: fmt.Sprintf("http://%s/notify", l.Addr())}
	r.server = &http.Server{Handler: r}
	go r.server.Serve(l) // until close
	return r, nil
}

func (r *receiver) close() { r.server.Close() }

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	now := time.Now().UnixNano()
	b := buffers.Get().(*[bodyBytes]byte)
	if _, err := io.ReadFull(req.Body, b[:]); err == nil {
		if l := r.load.Load(); l != nil {
			l.arrive(b[:], now)
		}
	}
	buffers.Put(b)
	w.Header()["Content-Type"] = []string{"text/plain"}
	io.WriteString(w, "success")
}
