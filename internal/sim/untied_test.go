//go:build !linux || !(amd64 || arm64) || race

package sim

import "os/exec"

const canTie = false

// runTied cannot be had here.
func runTied(*exec.Cmd, uint64) error { return errUntied }
