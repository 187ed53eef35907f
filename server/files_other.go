//go:build !unix

package server

// files returns how many files this process may open. This system does not say, so the number is
// the most that counts elsewhere.
func files() int { return 1 << 20 }
