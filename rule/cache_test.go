package rule_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/bellmanhq/bellman/rule"
)

func TestCacheCompilesOnce(t *testing.T) {
	var c rule.Cache
	var wg sync.WaitGroup
	rules := make([]*rule.Rule, 16)
	for i := range rules {
		wg.Go(func() {
			r, err := c.Compile("status == 200")
			if err != nil {
				t.Error(err)
			}
			rules[i] = r
			if got, err := r.Accepts(&rule.Answer{Status: 200 + i}); got != (i == 0) || err != nil {
				t.Errorf("Accepts(%d) = %t, %v", 200+i, got, err)
			}
		})
	}
	wg.Wait()
	for i, r := range rules {
		if r != rules[0] {
			t.Errorf("call %d got another rule; want one compiled once", i)
		}
	}
	_, first := c.Compile("status ==")
	_, again := c.Compile("status ==")
	if first == nil || first != again {
		t.Errorf("Compile of a wrong text = %v, then %v; want the same error", first, again)
	}
}

// A text in use is kept, one that is not in use is forgotten, and at most 256 are kept.
func TestCacheForgets(t *testing.T) {
	var c rule.Cache
	text := func(i int) string { return fmt.Sprintf("status == %d", i) }
	get := func(i int) *rule.Rule {
		r, err := c.Compile(text(i))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	used, once := get(0), get(1)
	for i := range 600 {
		get(2 + i)
		if get(0) != used {
			t.Fatalf("after %d more texts: a rule in use was compiled again", i+1)
		}
		if n := c.Len(); n > 256 {
			t.Fatalf("after %d more texts: %d are kept; want at most 256", i+1, n)
		}
	}
	if get(1) == once {
		t.Error("a text that was not used during 600 others is still kept; want it forgotten")
	}
}

// A Cache holds a bounded amount of memory, however large the rules are.
func TestCacheIsBoundedByCost(t *testing.T) {
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for name, text := range map[string]func(i int) string{
		"patterns": func(i int) string {
			return fmt.Sprintf("status == %d && body.matches('.{0,300}a') && body.matches('.{0,300}b') && body.matches('.{0,300}c')", i)
		},
		"comparisons": func(i int) string {
			return fmt.Sprintf("status == %d%s", i, strings.Repeat(" || 1==1", 240))
		},
		"list":  func(i int) string { return fmt.Sprintf("status in [%d%s]", i, strings.Repeat(",1", 950)) },
		"wrong": func(i int) string { return fmt.Sprintf("status == %d%s", i, strings.Repeat(" ", 2000)+"!") },
	} {
		t.Run(name, func(t *testing.T) {
			var c rule.Cache
			used, err := c.Compile("status == 200")
			if err != nil {
				t.Fatal(err)
			}
			before := live()
			for i := range 150 {
				if _, err := c.Compile(text(i)); (err != nil) != (name == "wrong") {
					t.Fatal(err)
				}
				if r, _ := c.Compile("status == 200"); r != used {
					t.Fatalf("after %d texts, a rule in use was compiled again", i)
				}
			}
			if grown := int64(live()) - int64(before); grown > 12<<20 {
				t.Errorf("150 rules take %d bytes of the heap; want at most 12 MiB", grown)
			}
			c.Drop()
			if n := c.Len(); n != 0 {
				t.Errorf("after Drop, %d rules are kept; want none", n)
			}
		})
	}
}

// The patterns of one rule share one limit.
func TestPatternsTogether(t *testing.T) {
	text := func(n int) string {
		terms := make([]string, n)
		for i := range terms {
			terms[i] = fmt.Sprintf("body.matches('.{0,300}%c')", 'a'+i)
		}
		return "status == 200 && (" + strings.Join(terms, " || ") + ")"
	}
	if _, err := rule.Compile(text(3)); err != nil {
		t.Errorf("three patterns of about 600 instructions: %v; want no error", err)
	}
	if _, err := rule.Compile(text(4)); err == nil || !strings.Contains(err.Error(), "want at most 2000") {
		t.Errorf("four patterns of about 600 instructions: %v; want an error with the limit of 2000", err)
	}
	same := "status == 200" + strings.Repeat(" && body.matches('.{0,300}a')", 8)
	if _, err := rule.Compile(same); err != nil {
		t.Errorf("one pattern of about 600 instructions, eight times: %v; want no error, because equal patterns count once", err)
	}
}
