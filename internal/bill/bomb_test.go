package bill

import (
	"archive/zip"
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An archive with many files, or with files that unpack to a thousand times their size, is refused
// after a small part of it.
func TestZipBombs(t *testing.T) {
	many := func(n int) string {
		var archive bytes.Buffer
		w := zip.NewWriter(&archive)
		for i := range n {
			if _, err := w.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("%06d_20200722_业务明细(汇总).csv", i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return archive.String()
	}
	details, _, _ := strings.Cut(testdata(t, "alipay_details.csv"), "\n")
	for _, tt := range []struct{ name, archive, err string }{
		{"60,000 files", many(60_000), "more than 100 files"},
		{"101 files", many(101), "more than 100 files"},
		{"100 files", many(100), "no file that begins with"},
		{"zeros", zipped(t, detailsName, strings.Repeat("\x00", 64<<20)), "line 1: the line is longer"},
		{"zeros behind the first line", zipped(t, detailsName, details+"\n"+strings.Repeat("\x00", 64<<20)), "the line is longer"},
		{"comments", zipped(t, detailsName, details+strings.Repeat("\n#", 32<<20)), "the files of the archive are too long"},
		{"empty lines", zipped(t, detailsName, details+strings.Repeat("\n", 64<<20)), "the files of the archive are too long"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := all(archive(t, tt.archive))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v; want an error with %q", tt.name, err, tt.err)
		}
		allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
		if t.Logf("%s, %d bytes: %v, %d MiB allocated", tt.name, len(tt.archive), time.Since(began), allocated); allocated > 100 {
			t.Errorf("%s: %d MiB allocated; want 100 or fewer", tt.name, allocated)
		}
	}
}
