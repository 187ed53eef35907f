package rule_test

import (
	"fmt"
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

// A text in use stays, one that is not is forgotten, and there are never more
// than Max.
func TestCacheForgets(t *testing.T) {
	c := rule.Cache{Max: 4}
	text := func(i int) string { return fmt.Sprintf("status == %d", i) }
	get := func(i int) *rule.Rule {
		r, err := c.Compile(text(i))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	used, once := get(0), get(1)
	for i := range 20 {
		get(2 + i)
		if get(0) != used {
			t.Fatalf("after %d more texts: a rule in use was compiled anew", i+1)
		}
		if n := c.Len(); n > 4 {
			t.Fatalf("after %d more texts: %d are kept; want at most 4", i+1, n)
		}
	}
	if get(1) == once {
		t.Error("a text not used for 20 others is still kept; want it forgotten")
	}
}
