package bench

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Healthy hosts and those that answer 500 take a random time within these bounds.
const (
	soonest = 30 * time.Millisecond
	latest  = 300 * time.Millisecond
)

// Of a hundred hosts, one answers 500 and one never answers.
const (
	hundred = 100
	failing = 98
	silent  = 99
)

// hosts are merchants on the Internet: addresses that speak HTTP/1.1 over TLS 1.3, each with a
// certificate of its own from an authority that the bench has made.
type hosts struct {
	urls    []string
	ca      string // file with the authority's certificate
	servers []*http.Server
	serving sync.WaitGroup

	requests   atomic.Int64
	handshakes atomic.Int64
	resumed    atomic.Int64 // handshakes that resume a session
	open       atomic.Int64 // requests without an answer
	most       atomic.Int64 // the largest value of open
}

// newHosts opens n addresses. The receiver records what arrives at the healthy ones.
func (r *receiver) newHosts(n int, dir string) (_ *hosts, err error) {
	h := &hosts{ca: filepath.Join(dir, "authority.pem")}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	quiet := log.New(io.Discard, "", 0)
	for _, handler := range []http.Handler{slowly(r), slowly(http.HandlerFunc(fail)), http.HandlerFunc(r.hang)} {
		h.servers = append(h.servers, &http.Server{Handler: h.counted(handler), ErrorLog: quiet})
	}
	listeners := make([]net.Listener, 0, n)
	for i := range n {
		l, err := listenAt(i, n)
		if err != nil {
			return h, errors.Join(err, closeAll(listeners))
		}
		listeners = append(listeners, l)
	}
	config, err := h.certify(listeners)
	if err != nil {
		return h, errors.Join(err, closeAll(listeners))
	}
	for i, l := range listeners {
		h.urls = append(h.urls, "https://"+l.Addr().String()+"/notify")
		s := h.servers[max(i%hundred-failing+1, 0)]
		h.serving.Go(func() { s.Serve(tls.NewListener(l, config)) }) // until close
	}
	return h, nil
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}

func (h *hosts) close() {
	for _, s := range h.servers {
		s.Close()
	}
	h.serving.Wait()
}

// counted counts the requests of a handler.
func (h *hosts) counted(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		h.requests.Add(1)
		open := h.open.Add(1)
		defer h.open.Add(-1)
		for most := h.most.Load(); open > most && !h.most.CompareAndSwap(most, open); most = h.most.Load() {
		}
		handler.ServeHTTP(w, req)
	})
}

// slowly delays the answers of a handler.
func slowly(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req)
		time.Sleep(soonest + mathrand.N(latest-soonest))
	})
}

// fail answers 500.
func fail(w http.ResponseWriter, req *http.Request) {
	io.Copy(io.Discard, req.Body)
	w.WriteHeader(http.StatusInternalServerError)
}

// certify makes an authority with a subordinate one, as on the Internet, and a certificate for each
// address.
func (h *hosts) certify(listeners []net.Listener) (*tls.Config, error) {
	root, err := newCertificate("root", nil, nil)
	if err != nil {
		return nil, err
	}
	middle, err := newCertificate("middle", root, nil)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate[0]})
	if err := os.WriteFile(h.ca, text, 0o600); err != nil {
		return nil, err
	}
	byHost := map[string]*tls.Certificate{}
	for _, l := range listeners {
		host := hostOf(l.Addr())
		if byHost[host] != nil {
			continue
		}
		c, err := newCertificate(host, middle, net.ParseIP(host))
		if err != nil {
			return nil, err
		}
		byHost[host] = c
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return byHost[hostOf(hello.Conn.LocalAddr())], nil
		},
		VerifyConnection: func(state tls.ConnectionState) error {
			h.handshakes.Add(1)
			if state.DidResume {
				h.resumed.Add(1)
			}
			return nil
		},
	}, nil
}

func hostOf(a net.Addr) string {
	host, _, _ := net.SplitHostPort(a.String())
	return host
}

// newCertificate returns a certificate with the chain behind it: of an authority, or of an address.
// A certificate without an issuer signs itself.
func newCertificate(name string, issuer *tls.Certificate, address net.IP) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if address == nil {
		c.BasicConstraintsValid, c.IsCA, c.KeyUsage = true, true, x509.KeyUsageCertSign
	} else {
		c.IPAddresses = []net.IP{address}
	}
	made := &tls.Certificate{PrivateKey: key}
	parent, signer := c, any(key)
	if issuer != nil {
		parent, signer = issuer.Leaf, issuer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, err
	}
	made.Certificate = [][]byte{der}
	if address != nil { // it is sent with the subordinate authority's
		made.Certificate = append(made.Certificate, issuer.Certificate...)
	}
	made.Leaf, err = x509.ParseCertificate(der)
	return made, err
}
