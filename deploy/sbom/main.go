// Sbom prints the bill of materials of a Go program, as a CycloneDX 1.6 document:
//
//	go run ./deploy/sbom bellman-linux-amd64 > bellman-linux-amd64.cdx.json
//
// It reads the linked modules from the program itself, and from the sources, for the program's
// platform, which module uses which. VERSION and SOURCE_DATE_EPOCH are the program's version and
// the document's time. The same program gives the same bytes.
//
// cyclonedx-gomod 1.10 cannot replace it: from a program it does not find which module uses which,
// and from sources it needs a git checkout with tags and has no checksum of the program.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments; want one, the program", len(args))
	}
	p, err := open(args[0])
	if err != nil {
		return err
	}
	p.version = cmp.Or(os.Getenv("VERSION"), "dev")
	epoch, err := strconv.ParseInt(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), "0"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	p.made = time.Unix(epoch, 0).UTC()
	uses, err := listed(p.info)
	if err != nil {
		return err
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(document(p, uses))
}

// A program is a built binary.
type program struct {
	file    string // file name without a directory
	version string
	made    time.Time
	sum     [sha256.Size]byte
	info    *buildinfo.BuildInfo
}

func open(file string) (program, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return program{}, err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return program{}, fmt.Errorf("%s: %w", file, err)
	}
	return program{file: filepath.Base(file), sum: sha256.Sum256(text), info: info}, nil
}

// listed runs go list to find the packages of the program and their imports.
func listed(info *buildinfo.BuildInfo) (uses, error) {
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,Module,Standard", info.Path)
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" {
			list.Env = append(list.Env, s.Key+"="+s.Value)
		}
	}
	list.Stderr = os.Stderr
	out, err := list.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := list.Start(); err != nil {
		return nil, err
	}
	found, err := read(out)
	if err := cmp.Or(err, list.Wait()); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return found, nil
}
