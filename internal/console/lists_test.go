package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman/internal/reconcile"
	"github.com/bellmanhq/bellman/internal/resend"
	"github.com/bellmanhq/bellman/store/memory"
)

// What a list offers stands above it: below, it is as far away as the list is long.
func TestActionsStandAboveLists(t *testing.T) {
	names, err := pageFiles.ReadDir("pages")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d pages, %v", len(names), err)
	}
	for _, name := range names {
		text, err := pageFiles.ReadFile("pages/" + name.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, pager := range strings.Split(string(text), `class="pager"`)[1:] {
			pager, _, _ = strings.Cut(pager, "</div>")
			for _, address := range strings.Split(pager, `href="`)[1:] {
				if address, _, _ = strings.Cut(address, `"`); address != "{{.First}}" && address != "{{.Next}}" && address != "{{.Address}}" && address != "/tasks" { // back to the list
					t.Errorf("%s has %s below its list; want it above", name.Name(), address)
				}
			}
		}
	}
}

// A form with several buttons and a field begins with part.deaf, so that Enter in the field presses
// none of them.
func TestFormsOfSeveralButtonsAreDeaf(t *testing.T) {
	names, err := pageFiles.ReadDir("pages")
	if err != nil {
		t.Fatal(err)
	}
	forms := 0
	for _, name := range names {
		text, err := pageFiles.ReadFile("pages/" + name.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range strings.Split(string(text), "<form")[1:] {
			form, _, _ = strings.Cut(form, "</form>")
			acts := strings.Contains(form, `{{template "part.acts"`)
			if n := strings.Count(form, `name="action"`); n < 2 && !acts || !strings.Contains(form, `method="post"`) {
				continue
			}
			if forms++; !strings.Contains(form, ">\n{{template \"part.deaf\"}}") {
				t.Errorf("%s: a form with several buttons: want part.deaf at its beginning:\n%.200s", name.Name(), form)
			}
		}
	}
	if forms < 6 {
		t.Errorf("%d forms have several buttons; want those of tasks, orders, merchants, queues and endpoints", forms)
	}
}

// Only the charts of the overview follow its range, and the page says so once another range is
// chosen.
func TestOverviewSaysWhatFollowsItsRange(t *testing.T) {
	s := open(t)
	const says = "The charts show this range."
	for _, query := range []string{"range=today", "from=2026-11-20T00:00&to=2026-11-20T12:00"} {
		s.get(t, "/?"+query).has(t, []string{says})
	}
	for _, query := range []string{"", "range=hour"} {
		s.get(t, "/?"+query).has(t, nil, says)
	}
}

// A desk with a number of bulk resends.
type manyJobs struct {
	resend.Desk
	n int
}

func (m manyJobs) List(_ context.Context, limit int) ([]resend.Job, error) {
	return make([]resend.Job, min(m.n, limit)), nil
}

// A desk with a number of reconciliations.
type manyRuns struct {
	reconcile.Desk
	n int
}

func (m manyRuns) List(_ context.Context, limit int) ([]reconcile.Run, error) {
	return make([]reconcile.Run, min(m.n, limit)), nil
}

// A list that does not show everything says so.
func TestListsSayThatThereIsMore(t *testing.T) {
	for _, more := range []int{0, 1} {
		s := openWith(t, &fake{Store: memory.New()}, Options{Resends: manyJobs{n: newestResends + more}, Reconciliations: manyRuns{n: newestReconciles + more}})
		for page, n := range map[string]int{"/resends": newestResends, "/reconciliations": newestReconciles} {
			got := s.get(t, page)
			rows, said := strings.Count(got.body, "<tr>")-1, strings.Contains(got.body, fmt.Sprintf("Only the newest %d are shown.", n))
			if got.StatusCode != http.StatusOK || rows != n || said != (more > 0) {
				t.Errorf("%s with %d more: %d, %d rows, and it says that there are more: %t", page, more, got.StatusCode, rows, said)
			}
		}
	}
}
