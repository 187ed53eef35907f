package server

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bellmanhq/bellman/internal/access"
	"github.com/bellmanhq/bellman/internal/alarm"
	"github.com/bellmanhq/bellman/internal/config"
	"github.com/bellmanhq/bellman/internal/keytest"
)

// Of a certificate somebody is warned at once if it ends within 30 days, then 7 days and 1 day
// before the end, and every day from then on.
func TestCertificatesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		log := slog.New(slog.NewTextHandler(&said, nil))
		start := time.Now()
		var c credentials
		c.add(func() []alarm.Credential {
			return []alarm.Credential{
				{Name: "app_certificate", Expires: start.Add(33*day + time.Hour)},
				{Name: "alipay_public_keys[0]", Expires: start.Add(20*day + time.Hour)},
				{Name: "far", Expires: start.Add(1000 * day)},
			}
		})
		ctx, stop := context.WithTimeout(t.Context(), 36*day-time.Hour)
		defer stop()
		if err := c.watch(ctx, log); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(said.String()) {
			fields := map[string]string{}
			for field := range strings.FieldsSeq(line) {
				name, value, _ := strings.Cut(field, "=")
				fields[name] = value
			}
			at, err := time.Parse(time.RFC3339, fields["time"])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s %s %s", at.Sub(start)/day, fields["level"], fields["credential"], fields["days_left"]))
		}
		want := []string{
			"0 WARN alipay_public_keys[0] 20",
			"4 WARN app_certificate 29",
			"14 WARN alipay_public_keys[0] 6",
			"20 WARN alipay_public_keys[0] 0",
		}
		for n := 21; n < 36; n++ {
			want = append(want, fmt.Sprintf("%d ERROR alipay_public_keys[0] 0", n))
			switch {
			case n == 27:
				want = append(want, "27 WARN app_certificate 6")
			case n == 33:
				want = append(want, "33 WARN app_certificate 0")
			case n > 33:
				want = append(want, fmt.Sprintf("%d ERROR app_certificate 0", n))
			}
		}
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("said\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Of a key somebody is warned in the same way.
func TestKeysExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		start := time.Now()
		var c credentials
		c.set(nil, []access.Key{
			{Name: "shop", Expires: start.Add(9*day + time.Hour)},
			{Name: "far", Expires: start.Add(1000 * day)},
			{Name: "never"},
		})
		ctx, stop := context.WithTimeout(t.Context(), 11*day-time.Hour)
		defer stop()
		if err := c.watch(ctx, slog.New(slog.NewTextHandler(&said, nil))); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(said.String()) {
			stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			at, err := time.Parse(time.RFC3339, stamp)
			if err != nil || !strings.Contains(rest, "credential=keys.shop") {
				t.Fatal(line, err)
			}
			got = append(got, fmt.Sprint(int(at.Sub(start)/day), strings.Contains(rest, "has expired")))
		}
		if want := []string{"0 false", "3 false", "9 false", "10 true"}; !slices.Equal(got, want) {
			t.Errorf("said on the days %v; want %v", got, want)
		}
	})
}

// The certificates of the channels come out of the configuration, into the figures and the log; a
// reload looks at the new ones.
func TestCertificatesOfChannels(t *testing.T) {
	dir := t.TempDir()
	key := livesKey()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	certificate := func(name string, serial int64, notAfter time.Time) string {
		return file(name, keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: notAfter}))
	}
	soon, later := time.Now().Add(5*day).Truncate(time.Second), time.Now().Add(400*day).Truncate(time.Second)
	settings := func(platform string) *config.Config {
		c, err := config.Parse([]byte(strings.NewReplacer("DIR", dir, "PLATFORM", platform,
			"PRIVATE", file("private.pem", keytest.PrivatePEM(key)), "PUBLIC", file("public.pem", keytest.PublicPEM(key)),
			"ALIPAY", certificate("alipay.crt", 0xB0B, later), "APP", certificate("app.crt", 0xA99, soon)).Replace(`
listen: 127.0.0.1:0
store: pebble:DIR/store
queues:
  wechat:
    kind: order
    channel: {kind: wechatpay, mch_id: "1230000109", serial: 5157F09E, private_key: "file:PRIVATE",
      platform_keys: {PUB_KEY_ID_01: "file:PUBLIC", ABCD: "file:PLATFORM"}}
    on_exhausted: close
  alipay:
    kind: order
    channel: {kind: alipay, app_id: "2014072300007148", private_key: "file:PRIVATE", alipay_public_keys: ["file:ALIPAY"],
      app_certificate: "file:APP", root_certificates: "file:APP"}
    on_exhausted: close
`)))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var said strings.Builder
	s, err := Open(Options{Config: settings(certificate("platform.crt", 0xABCD, later)), Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	figures := func(want map[string]time.Time) {
		t.Helper()
		w := httptest.NewRecorder()
		s.metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for labels, at := range want {
			if line := fmt.Sprintf("bellman_certificate_expiry_timestamp_seconds{%s} %g\n", labels, float64(at.Unix())); !strings.Contains(w.Body.String(), line) {
				t.Errorf("the figures lack %s", line)
			}
		}
		if n := strings.Count(w.Body.String(), "\nbellman_certificate_expiry_timestamp_seconds{"); n != len(want) {
			t.Errorf("%d certificates among the figures; want %d", n, len(want))
		}
	}
	figures(map[string]time.Time{
		`certificate="platform_keys.ABCD",queue="wechat"`:    later,
		`certificate="app_certificate",queue="alipay"`:       soon,
		`certificate="alipay_public_keys[0]",queue="alipay"`: later,
	})
	if err := s.Reload(settings(certificate("platform2.crt", 0xABCD, soon))); err != nil {
		t.Fatal(err)
	}
	figures(map[string]time.Time{
		`certificate="platform_keys.ABCD",queue="wechat"`:    soon,
		`certificate="app_certificate",queue="alipay"`:       soon,
		`certificate="alipay_public_keys[0]",queue="alipay"`: later,
	})
	if n := strings.Count(said.String(), "a certificate or key expires soon"); n != 2 || !strings.Contains(said.String(), "credential=queues.wechat.channel.platform_keys.ABCD queue=wechat") {
		t.Errorf("the reload said %d times that a certificate ends soon; want twice:\n%s", n, said.String())
	}
}
