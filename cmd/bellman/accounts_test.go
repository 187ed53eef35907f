package main

import (
	"crypto/x509"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bellmanhq/bellman/internal/keytest"
)

// An account is registered, changed, rotated, exported and imported by the command line, with keys
// in files.
func TestAccounts(t *testing.T) {
	t.Parallel()
	p := start(t, []string{"MASTER=" + strings.Repeat("0f", 32), "BELLMAN_MASTER_KEY=env:MASTER"}, "--store", "pebble:"+t.TempDir())
	defer p.stop()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	key := keytest.RSA()
	private := file("private.pem", keytest.PEM("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)))
	platform := "PUB_KEY_ID_1=" + file("public.pem", keytest.PublicPEM(key))
	v3 := file("v3", strings.Repeat("k", 28)+"last\n")
	accounts := func(args ...string) string {
		t.Helper()
		return must(t, append(append([]string{"accounts"}, args...), "--server", p.url)...)
	}
	says := func(out string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%q is missing in\n%s", want, out)
			}
		}
	}
	put := []string{"put", "shop1", "--channel", "wechatpay", "--mch-id", "1900000001", "--serial", "AB", "--private-key", private, "--api-v3-key", v3, "--platform-key", platform, "--rate", "300/s"}
	says(accounts(put...), "wechatpay:1900000001", "300/s", "api_v3_key, platform_keys.PUB_KEY_ID_1, private_key")
	says(accounts("put", "shop1", "--name", "Tea"), "Tea", "300/s", "private_key") // the rest stays
	certificate := file("certificate.pem", keytest.Certificate(key, x509.Certificate{SerialNumber: big.NewInt(0x1234), NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(4, 0, 0)}))
	says(accounts("put", "shop1", "--certificate", certificate), "certificate") // in place of serial
	says(accounts("list", "--name", "te"), "shop1")
	says(accounts("rotate", "shop1", "--api-v3-key", file("next", strings.Repeat("n", 32)), "--overlap", "1h"), "api_v3_key until ")
	says(accounts("get", "shop1", "-o", "json"), `"***nnnn"`, `"***last"`)

	lines := file("accounts.ndjson", accounts("export", "--secrets"))
	says(accounts("import", lines), "1      0        0        1          0")
	accounts("delete", "shop1", "--reason", "moves")
	says(accounts("import", lines), "1      1        0        0          0")
	says(accounts("get", "shop1"), "api_v3_key until ")
	if out := accounts("export"); strings.Contains(out, "sealed:") {
		t.Errorf("an export without secrets has them:\n%s", out)
	}
	says(accounts("put", "shop2", "--channel", "wechatpay", "--mch-id", "1900000002", "--serial", "AB", "--private-key", private, "--api-v3-key", v3, "--platform-key", "fetch"), "platform_keys.certificates")
	says(accounts("get", "shop2", "-o", "json"), `"certificates": "fetch"`)
	for want, args := range map[string][]string{
		"want ID=FILE":      {"put", "shop1", "--platform-key", "none"},
		"--private-key: ":   {"put", "shop1", "--private-key", "/no/such/file"},
		"mch_id: cannot be": {"put", "shop1", "--mch-id", "1900000002"},
	} {
		if r := run(t, append(append([]string{"accounts"}, args...), "--server", p.url)...); r.status == 0 || !strings.Contains(r.errors, want) {
			t.Errorf("accounts %q: status %d, %s; want %q", args, r.status, r.errors, want)
		}
	}
}

// The file of a key is read whole or not at all.
func TestLargeKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "roots.pem")
	var key string
	for size, want := range map[int]bool{64 << 10: true, 64<<10 + 1: false} {
		write(t, file, strings.Repeat("a", size))
		if err := readKey("root-certificates", file, &key); (err == nil) != want || want && len(key) != size || err != nil && exitStatus(err) != 2 {
			t.Errorf("%d bytes: %v, %d read; want it read: %t", size, err, len(key), want)
		}
	}
}
