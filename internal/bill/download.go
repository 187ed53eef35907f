package bill

import (
	"fmt"
	"io"
	"iter"
)

// Downloaded yields the lines of a bill that a channel has to send first. download writes the whole
// bill to a temporary file in dir, empty: the system's directory; read reads it from there. If
// download returns an error, what it wrote is not read: a channel's hash is checked at the end. If
// download writes nothing and returns nil, the channel has no bill, and there are no lines.
func Downloaded(dir string, download func(io.Writer) error, read func(io.Reader) iter.Seq2[Line, error]) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		f, err := newTempFile(dir)
		if err != nil {
			yield(Line{}, err)
			return
		}
		defer f.remove()
		err = download(f)
		var size int64
		if err == nil {
			size, err = f.Seek(0, io.SeekCurrent)
		}
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			yield(Line{}, fmt.Errorf("download: %w", err))
			return
		}
		if size > 0 {
			read(f)(yield)
		}
	}
}
