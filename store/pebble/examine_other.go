//go:build !linux

package pebble

import "github.com/bellmanhq/bellman/store"

// examineFileSystem finds nothing: only Linux tells the kind of a file system in a common way.
func examineFileSystem(string) (store.Finding, bool) { return store.Finding{}, false }
