package sim

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	plantedSeeds = flag.Int("sim.planted", 0, "plant each bug of testdata/planted.txt and look for it with up to so many seeds")
	plantedOnly  = flag.String("sim.bug", "", "of the planted bugs those whose names match")
	plantedTable = flag.String("sim.table", "", "where to append what was found")
)

// A bug is some edits of the source that remove a fence, a check or a wakeup.
type bug struct {
	name  string
	edits []edit
}

type edit struct{ file, old, new string }

// plantable reads a list of bugs. A bug begins with "## " and its name. An edit is
// "@ " and a file, lines that begin with "-", which stand in the file once, and lines with
// "+", which stand there instead. In those BUG says whether it is this bug's turn: all of them
// are planted in one copy of the source, which is built once.
func plantable(t *testing.T, list string) (bugs []bug) {
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		switch last := len(bugs) - 1; {
		case strings.HasPrefix(line, "## "):
			bugs = append(bugs, bug{name: strings.TrimSpace(line[3:])})
		case strings.HasPrefix(line, "@ "):
			bugs[last].edits = append(bugs[last].edits, edit{file: strings.TrimSpace(line[2:])})
		case strings.HasPrefix(line, "-"), strings.HasPrefix(line, "+"):
			e := &bugs[last].edits[len(bugs[last].edits)-1]
			if line[0] == '-' {
				e.old += line[1:]
			} else {
				e.new += strings.ReplaceAll(line[1:], "BUG", fmt.Sprintf("planted(%q)", bugs[last].name))
			}
		}
	}
	return bugs
}

// turn is the variable by which a process is told whose turn it is.
const turn = "BELLMAN_SIM_BUG"

// plant returns the files of a copy of the source that has all bugs, by their names, and which
// edits no longer fit the source.
func plant(bugs []bug) (files map[string]string, stale []string, err error) {
	files = make(map[string]string)
	for _, b := range bugs {
		for _, e := range b.edits {
			text, ok := files[e.file]
			if !ok {
				read, err := os.ReadFile(filepath.Join("..", "..", e.file))
				if err != nil {
					return nil, nil, err
				}
				text = string(read)
				dir := filepath.Dir(e.file)
				files[filepath.Join(dir, "planted.go")] = fmt.Sprintf(
					"package %s\n\nimport \"os\"\n\nvar whose = os.Getenv(%q)\n\nfunc planted(bug string) bool { return whose == bug }\n", filepath.Base(dir), turn)
			}
			if n := strings.Count(text, e.old); n != 1 || e.old == "" {
				stale = append(stale, fmt.Sprintf("%s: %s has %d times what is to be replaced:\n%s", b.name, e.file, n, e.old))
				continue
			}
			files[e.file] = strings.Replace(text, e.old, e.new, 1)
		}
	}
	return files, stale, nil
}

// Each bug in the list can still be planted, and with -sim.planted it is: the tests are built
// with all of them, and for each of them seeds are run until one fails.
func TestPlanted(t *testing.T) {
	bugs := plantable(t, "testdata/planted.txt")
	if len(bugs) < 30 {
		t.Errorf("%d bugs can be planted, want 30 or more", len(bugs))
	}
	files, stale, err := plant(bugs)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range stale {
		t.Error(edit)
	}
	if *plantedSeeds == 0 {
		return
	}
	bin, err := build(t.Context(), t.TempDir(), ".", files)
	if err != nil {
		t.Fatal(err)
	}
	only := regexp.MustCompile(*plantedOnly)
	for _, b := range bugs {
		if !only.MatchString(b.name) {
			continue
		}
		t.Setenv(turn, b.name)
		began := time.Now()
		seed, wrong := find(t.Context(), bin)
		if t.Context().Err() != nil {
			return
		}
		found := fmt.Sprint(seed)
		if seed == 0 {
			found = fmt.Sprintf("none of %d", *plantedSeeds)
		}
		t.Logf("%s: %s, %v: %s", b.name, found, time.Since(began).Round(time.Second), wrong)
		if *plantedTable == "" {
			continue
		}
		f, err := os.OpenFile(*plantedTable, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			fmt.Fprintf(f, "| %s | %s | %s |\n", b.name, found, wrong)
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// build makes the test binary of a package in which some files are replaced.
func build(ctx context.Context, dir, pkg string, files map[string]string) (bin string, err error) {
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	for name, text := range files {
		real, err := filepath.Abs(filepath.Join("..", "..", name))
		if err != nil {
			return "", err
		}
		overlay.Replace[real] = filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(overlay.Replace[real], []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	list, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", bin, "-overlay", list, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not build: %v\n%s", err, out)
	}
	return bin, nil
}

// find returns the first seed that fails, and what it says is wrong; 0: none does.
func find(ctx context.Context, bin string) (seed int64, wrong string) {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		next = int64(1)
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				mine, done := next, seed != 0 || next > int64(*plantedSeeds) || ctx.Err() != nil
				next++
				mu.Unlock()
				if done {
					return
				}
				_, said := child(ctx, bin, mine)
				mu.Lock()
				if said != "" && (seed == 0 || mine < seed) {
					seed, wrong = mine, why(said)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return seed, wrong
}

var (
	firstWrong = regexp.MustCompile(`(?m)alone_test\.go:\d+: (.*)$|^panic: (.*)$`)
	detail     = regexp.MustCompile(`task [0-9a-f-]{36}|n\d\.\d+|[0-9hmµn.]*\d+(ms|µs|ns|s|m|h)\b|\d+`)
)

// why is the first promise that a seed says was broken, without what is of that seed alone.
func why(said string) string {
	m := firstWrong.FindStringSubmatch(said)
	if m == nil {
		line, _, _ := strings.Cut(said, "\n")
		return strings.TrimSpace(line)
	}
	_, text, ok := strings.Cut(m[1], ": ")
	if !ok {
		text, _, _ = strings.Cut(m[2], " [")
	}
	text = strings.TrimPrefix(detail.ReplaceAllString(text, "…"), "…: ")
	return strings.ReplaceAll(text, "|", "/")
}
