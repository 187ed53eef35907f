package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/config"
)

// profile serves profiles of this process at a loopback address, until the process ends. With an
// empty address it does nothing.
func profile(address string, log *slog.Logger) error {
	if address == "" {
		return nil
	}
	if !config.Loopback(address) {
		return wrong{fmt.Errorf("BELLMAN_PPROF %q: want an address of loopback such as 127.0.0.1:6060", address)}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("BELLMAN_PPROF: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s := &http.Server{Handler: direct(mux), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("profiles are served no longer", "err", err)
		}
	}()
	log.Info("profiles are served", "address", "http://"+l.Addr().String()+"/debug/pprof/")
	return nil
}

// direct admits only requests whose Host is an address or localhost: the name of a hostile page can
// resolve to loopback.
func direct(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !access.Direct(r.Host) {
			http.Error(w, "want localhost or an address as the host", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
