package sim

import (
	"strings"
	"testing"
)

// A seed that is run again tells the same story, to the letter.
func TestReplay(t *testing.T) {
	for _, seed := range []int64{3, 7, 11} {
		var stories [2]string
		for i := range stories {
			said, err := play(t.Context(), seed, true)
			if strings.Contains(said, errUntied.Error()) {
				t.Skip(said[:strings.IndexByte(said, '\n')])
			}
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, said)
			}
			stories[i], _, _ = strings.Cut(said, "\n--- ") // the rest says how long it took
		}
		first, second := strings.Split(stories[0], "\n"), strings.Split(stories[1], "\n")
		for i := range min(len(first), len(second)) {
			if first[i] != second[i] {
				t.Fatalf("seed %d, line %d of %d: %s\nand then: %s", seed, i, len(first), first[i], second[i])
			}
		}
		if len(first) != len(second) || len(first) < 100 {
			t.Errorf("seed %d: %d lines, and then %d; want the same, and some", seed, len(first), len(second))
		}
	}
}
