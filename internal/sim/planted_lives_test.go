package sim

import (
	"fmt"
	"os/exec"
	"regexp"
	"testing"
)

// Each mistake of testdata/planted_lives.txt can still be planted, and with -sim.planted it is: the
// lives of orders in package server are played with each of them, twice as many as there are seeds,
// and catch it.
func TestPlantedLives(t *testing.T) {
	bugs := plantable(t, "testdata/planted_lives.txt")
	if len(bugs) < 20 {
		t.Errorf("%d mistakes can be planted, want 20 or more", len(bugs))
	}
	files, stale, err := plant(bugs)
	if err != nil {
		t.Fatal(err)
	}
	for _, edit := range stale {
		t.Error(edit)
	}
	if *plantedSeeds == 0 || t.Failed() {
		return
	}
	bin, err := build(t.Context(), t.TempDir(), "../../server", files)
	if err != nil {
		t.Fatal(err)
	}
	only, caught := regexp.MustCompile(*plantedOnly), regexp.MustCompile(`(?m)lives_test\.go:\d+: (seed \d+): order [^\n]*%: (.*)$`)
	for _, b := range append([]bug{{}}, bugs...) { // the first is none
		if !only.MatchString(b.name) {
			continue
		}
		t.Setenv(turn, b.name)
		lives := exec.CommandContext(t.Context(), bin, "-test.run=^TestNoticeLives$", fmt.Sprint("-lives=", 2**plantedSeeds))
		lives.Dir = "../../server"
		said, err := lives.CombinedOutput()
		m := caught.FindSubmatch(said)
		switch {
		case b.name == "" && err != nil:
			t.Fatalf("nothing is planted, and the lives fail: %v\n%s", err, said)
		case b.name == "":
		case m == nil:
			t.Errorf("%s: not caught in %d lives: %v", b.name, 2**plantedSeeds, err)
		default:
			t.Logf("%s: %s: %s", b.name, m[1], m[2])
		}
	}
}
