package nearest_test

import (
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/nearest"
)

func TestSome(t *testing.T) {
	names := strings.Split("abcdefghijk", "")
	for n, want := range map[int]string{0: "", 1: "a", 10: "a, b, c, d, e, f, g, h, i, j", 11: "a, b, c, d, e, f, g, h, i, j, …"} {
		if got := nearest.Some(names[:n]); got != want || names[10] != "k" {
			t.Errorf("Some(%q) = %q; want %q", names[:n], got, want)
		}
	}
}

func TestOf(t *testing.T) {
	names := []string{"queue", "url", "key", "order_no", "merchant_no"}
	tests := []struct {
		name string
		most int
		want string
	}{
		{"urll", 2, "url"},
		{"orderno", 2, "order_no"},
		{"merchent_no", 1, "merchant_no"},
		{"merchent_on", 1, ""},
		{"", 2, ""},
		{"", 3, "url"},
		{"key", 0, "key"},
		{"ker", 0, ""},
		{"anything at all", 1 << 20, "merchant_no"},
	}
	for _, tt := range tests {
		if got := nearest.Of(tt.name, tt.most, names...); got != tt.want {
			t.Errorf("Of(%q, %d) = %q, want %q", tt.name, tt.most, got, tt.want)
		}
	}
}
