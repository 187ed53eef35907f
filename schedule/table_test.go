package schedule

import (
	"errors"
	"strings"
	"testing"
)

func TestWriteTable(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		lines int
		want  string // the end of the output
	}{
		{"15m", 0, 3, "      1         15m         15m          0s\n1 attempt, total 0s\n"},
		{"10m*; max 30m", 0, 6, "3 attempts, total 20m\nnothing is due after age 30m\n"},
		{"10m*; max 30m", 2, 6, "      …  cut after 2 attempts\n3 attempts, total 20m\nnothing is due after age 30m\n"},
		{"5s*200", 0, 103, "      …  cut after 100 attempts\n200 attempts, total 16m35s\n"},
		{"1s, 3650d*", 0, 12, "without end: every 87600h, until accepted\n"}, // rows for a hundred years
		{"1s ~20%", 0, 4, "each gap may be up to 20% longer\n"},
	}
	for _, tt := range tests {
		s, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := s.WriteTable(&b, tt.limit); err != nil {
			t.Error(err)
		}
		if lines := strings.Count(b.String(), "\n"); lines != tt.lines || !strings.HasSuffix(b.String(), tt.want) {
			t.Errorf("table of %q, limit %d, has %d lines; want %d that end with %q:\n%s", tt.text, tt.limit, lines, tt.lines, tt.want, b.String())
		}
	}
}

func TestWriteTableReturnsWriteError(t *testing.T) {
	s, err := Parse("wechat_notify")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteTable(full{}, 0); !errors.Is(err, errFull) {
		t.Errorf("WriteTable = %v; want %v", err, errFull)
	}
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
