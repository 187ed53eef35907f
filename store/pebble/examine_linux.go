package pebble

import (
	"fmt"
	"syscall"

	"github.com/bellmanhq/bellman/store"
)

// The kinds of file systems are in statfs(2).
var fileSystems = map[uint32]struct{ name, why, do string }{
	0x01021994: {"tmpfs", "it is memory, and everything is lost when the machine stops", "move the directory to a disk"},
	0x858458f6: {"ramfs", "it is memory, and everything is lost when the machine stops", "move the directory to a disk"},
	0x794c7630: {"overlayfs", "a container's own layer is deleted with the container", "mount a volume there"},
	0x6969:     {"NFS", "a sync may return before the data is on a disk, and the network delays each commit", "move the directory to a disk of this machine"},
	0xff534d42: {"CIFS", "a sync may return before the data is on a disk, and the network delays each commit", "move the directory to a disk of this machine"},
	0xfe534d42: {"SMB", "a sync may return before the data is on a disk, and the network delays each commit", "move the directory to a disk of this machine"},
}

// examineFileSystem finds a file system that loses files.
func examineFileSystem(dir string) (store.Finding, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return store.Finding{}, false // writes reports what is wrong with the directory
	}
	kind, is := fileSystems[uint32(st.Type)]
	return store.Finding{Name: "file_system", Level: store.Error, What: fmt.Sprintf("%s is on %s: %s", dir, kind.name, kind.why), Do: kind.do}, is
}
