package clients_test

import (
	"os"
	"path/filepath"
	"testing"
)

// The TypeScript client compiles in strict mode and works against a server, and its generated part
// is what the document gives.
func TestTypeScript(t *testing.T) {
	dir := typescript(t)
	run(t, dir, "node", "generate.mjs", filepath.Join(dir, "again.ts"))
	again, err := os.ReadFile(filepath.Join(dir, "again.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != texts(t, "typescript/src")["schema.ts"] {
		t.Error("typescript/src/schema.ts is not what the document gives: make clients")
	}
	if err := os.Remove(filepath.Join(dir, "again.ts")); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	t.Setenv("BELLMAN_SERVER", w.server)
	t.Setenv("BELLMAN_MERCHANT", w.merchant)
	t.Setenv("BELLMAN_ADMIN", adminKey)
	t.Setenv("BELLMAN_READ", readKey)
	run(t, dir, "node", "node_modules/typescript/bin/tsc")
	t.Log(run(t, dir, "node", "--test", "dist/test/send.test.js", "dist/test/server.test.js"))
}

// typescript is a copy of the client, ready to run.
func typescript(t *testing.T) string {
	t.Helper()
	dir := node(t, "typescript")
	document, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "..", "openapi.json"), document, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}
