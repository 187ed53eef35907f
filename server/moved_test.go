package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocuments looks for a kind of documents that a move would leave behind.
func TestDocuments(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^(?:const |\t)(?:\w*Kind|kind|Kind) += "([a-z-]+)"`)
	found := 1 + 2*4 // secretKind, which is declared with the name beside it, and what the two registries keep beside their entries
	for _, dir := range []string{"internal/alarm", "internal/api", "internal/console", "engine", "engine/internal/cluster", "internal/sharelink", "internal/merchant", "internal/account", "order", "internal/results", "internal/reconcile", "internal/resend", "server", "internal/brokers/source"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range declared.FindAllStringSubmatch(string(text), -1) {
				if found++; !slices.Contains(Documents(), kind[1]) {
					t.Errorf("%s has documents of the kind %q, which Documents does not name: a move would leave them behind", file, kind[1])
				}
			}
		}
	}
	if found < len(Documents()) {
		t.Errorf("%d kinds were found in the code, Documents names %d", found, len(Documents()))
	}
}
