package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// child runs a seed in a process of its own, by a binary of these tests. It returns what is wrong;
// empty: nothing.
func child(ctx context.Context, binary string, seed int64) (c counts, wrong string) {
	ctx, cancel := context.WithTimeout(ctx, tooLong)
	defer cancel()
	out, err := play(ctx, binary, seed, false)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "counts "); ok {
			if err := json.Unmarshal([]byte(text), &c); err != nil {
				return c, err.Error()
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return c, fmt.Sprintf("it takes longer than %v", tooLong)
	case err != nil:
		lines = matter(lines)
		return c, fmt.Sprintf("%v\n%s", err, strings.Join(lines, "\n"))
	case c.Commits == 0:
		return c, "nothing happened: " + out
	}
	return c, ""
}

// errUntied says that a process cannot be tied to its seed on this system.
var errUntied = errors.New("not tied to its seed")

// usualThreads is how many threads a process has when its test begins: the main one, the monitor,
// and one that went on while the first had to wait.
const usualThreads = 3

// unusual is the exit code of a process that began with other threads. Where one is slow to rest,
// the runtime starts another in its place, and what it allocates for that moves all that comes
// later.
const unusual = 75

// play runs a seed in a process of its own, and returns what that says. Where a process can be tied
// to its seed, it is the same each time, and for everybody who builds the same. A process has its
// arguments and environment in memory, and maps of pointers are ordered by where things are: so all
// have the same.
func play(ctx context.Context, binary string, seed int64, story bool) (said string, err error) {
	const tries = 50
	for try := 1; try <= tries; try++ {
		var out strings.Builder
		command := func() *exec.Cmd {
			cmd := exec.CommandContext(ctx, "./"+filepath.Base(binary), "-test.run=^TestSim$", "-test.v", "-sim.here",
				fmt.Sprintf("-sim.threads=%t", canTie && try < tries), fmt.Sprintf("-sim.seed=%d", seed), fmt.Sprintf("-sim.story=%t", story))
			cmd.Dir = filepath.Dir(binary)
			cmd.Env = []string{"GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", turn + "=" + os.Getenv(turn)}
			cmd.Stdout, cmd.Stderr = &out, &out
			return cmd
		}
		if err = runTied(command(), uint64(seed)); errors.Is(err, errUntied) {
			fmt.Fprintln(&out, err)
			err = command().Run()
		}
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != unusual {
			return out.String(), err
		}
	}
	panic("the last try asks for no threads")
}

// aboutTask matches a report about a task, and in it the name that the story gives the task.
var aboutTask = regexp.MustCompile(`WRONG: task [0-9a-f]+-([0-9a-f]+-[0-9a-f]+-[0-9a-f]+)-`)

// matter keeps the important lines of a child's output: the errors, the story of the tasks in the
// errors, and the end.
func matter(lines []string) (kept []string) {
	const ending = 20
	var tasks []string
	for _, line := range lines {
		if m := aboutTask.FindStringSubmatch(line); m != nil && len(tasks) < 3 {
			tasks = append(tasks, m[1])
		}
	}
	for i, line := range lines {
		if i >= len(lines)-ending || firstWrong.MatchString(line) || slices.ContainsFunc(tasks, func(task string) bool { return strings.Contains(line, task) }) {
			kept = append(kept, line)
		}
	}
	return kept
}
