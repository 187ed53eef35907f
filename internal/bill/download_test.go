package bill

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// A bill is read after its download has ended well, and its file is removed in any case.
func TestDownloaded(t *testing.T) {
	whole := testdata(t, "wechat_trade.csv")
	boom := errors.New("boom")
	tests := []struct {
		name  string
		text  string
		err   error
		lines int
		want  string // a part of the error
	}{
		{"whole", whole, nil, 5, ""},
		{"no bill", "", nil, 0, ""},
		{"a wrong hash", whole, boom, 0, "download: boom"},
		{"cut off", drop(whole, 8), nil, 5, "ends without its totals"},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		got, err := all(Downloaded(dir, func(w io.Writer) error {
			if _, err := io.WriteString(w, tt.text); err != nil {
				t.Error(err)
			}
			return tt.err
		}, ReadWeChatTrade))
		if len(got) != tt.lines || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %d lines, %v; want %d, %q", tt.name, len(got), err, tt.lines, tt.want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: %d files are left, %v", tt.name, len(left), err)
		}
	}
}
