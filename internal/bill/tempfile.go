package bill

import (
	"fmt"
	"os"
)

// A tempFile is a temporary file that only this process sees. Where the system allows it, its name
// is removed at once, so that the file disappears with the process, whatever happens to it.
type tempFile struct {
	*os.File
	unlinked bool
}

func newTempFile(dir string) (*tempFile, error) {
	f, err := os.CreateTemp(dir, "bellman-bill-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return &tempFile{File: f, unlinked: os.Remove(f.Name()) == nil}, nil
}

// remove closes and removes the file. An error would change nothing for the caller.
func (f *tempFile) remove() {
	f.Close()
	if !f.unlinked {
		os.Remove(f.Name())
	}
}
