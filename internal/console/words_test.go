package console

import (
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bellmanhq/bellman"
	"github.com/bellmanhq/bellman/client"
	"github.com/bellmanhq/bellman/deliver/sign"
	"github.com/bellmanhq/bellman/internal/attention"
	"github.com/bellmanhq/bellman/rule"
)

// families are the words that pages look up with a value of bellman: {{named "state" .}}. Each
// family must have all texts here, and no others.
var families = map[string][]string{
	"role":    {"read", "operate", "decide", "admin"}, // submit is never signed in
	"kind":    {"notify", "order", "poll"},
	"state":   names(bellman.Pending, bellman.Succeeded, bellman.Failed, bellman.Cancelled),
	"order":   {"PENDING", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED", "UNKNOWN"},
	"poll":    {"PENDING", "DONE", "FAILED_THERE", "UNKNOWN"},
	"job":     {"running", "done", "cancelled"},
	"mode":    {"once", "restart"},
	"breaker": {"open", "half_open", "closed"},
	"reading": {"PENDING", "NOT_FOUND", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED",
		"closed", "already_closed", "paid_hint", "in_flight", "not_exist", "refunded", "DONE", "FAILED_THERE", "accepted", "refused"},
	"order.says": {"PENDING", "PAID", "PAID_REFUNDED", "CLOSED", "REVOKED", "FAILED", "UNKNOWN", "none", "late", "late_refund", "twice", "twice_refund", "mismatch"},
	"result":     names(bellman.Unknown, bellman.Accepted, bellman.Refused, bellman.ErrorStatus, bellman.Unreachable, bellman.TimedOut, bellman.Blocked),
	"trigger":    names(bellman.BySchedule, bellman.ByHand, bellman.BySettle, bellman.ByTakeover),
	"action":     {"query", "close", "reverse", "notice", "announce", "request"},
	"body":       {"json", "form", "text", "binary"},
	"did":        {"resend", "restart", "cancel", "reschedule", "complete", "decide", "settle", "reconcile", "pause", "resume", "link", "revoke", "put", "delete", "rotate", "import", "reseal", "test", "backup", "move", "sign_in", "sign_out", "refused", "export", "open", "keys", "reveal"},
	"reason": {"accepted", "attempts_used_up", "max_age", "gave_up", "cancelled", "superseded", "callback", "unreadable",
		"paid", "paid_refunded", "closed", "revoked", "failed", "unknown",
		"exhausted", "reverse_failed", "late_payment", "watched", "amount_mismatch", "done", "failed_there",
		"applied", "duplicate", "held", "mismatch", "refused"},
	"event": {"order.watch", "order.notice", "order.undecided", "order.late_watch", "order.late_payment", "order.duplicate_payment",
		"order.paid", "order.paid_refunded", "order.closed", "order.revoked", "order.failed", "poll.watch", "poll.done", "poll.failed"},
	"poll.alert":      {"used_up", "refused", "not_there", "contradicts", "person", "abnormal", "untold", "sent"},
	"reconcile.state": {"waiting", "running", "done", "failed"},
	"reconcile.bill":  {"trade", "fund_flow"},
	"reconcile.from":  {"channel", "file"},
	"reconcile.kind":  {"missing_here", "missing_there", "amount", "state", "refund", "duplicate"},
	"reconcile.do":    {"missing_here", "missing_there", "amount", "state", "refund", "duplicate"},
	"scheme":          sign.Schemes(),
	"wants":           presets(),
	"quick":           quicks(),
	"imported":        {"created", "changed", "same", "refused"},
	"import.got":      {"string", "number", "bool", "array", "object"},
	"import.want":     {"string", "int", "map", "slice", "struct"},
	"source":          {"connecting", "consuming", "paused", "stopped"},
	"link.state":      {"good", "expired", "revoked"},
	"told":            append(names(bellman.Pending, bellman.Succeeded, bellman.Failed, bellman.Cancelled), "completed"),
	"life":            lives,
	"need":            attention.Kinds,
	"choice":          append([]string{"all", "label"}, troubles...),
	"event.mark":      {"pause", "resume", "takeover", "joined"},
	"need.do":         attention.Kinds,
	"finds":           {"recent", "orders", "tasks", "notices", "merchants", "accounts", "endpoints", "queues"},
	"field":           append(append(slices.Clone(taskFields), orderFields...), "id"), // of filters, where one could not be read
}

// presets are the names of the rules that have words of their own.
func presets() (all []string) {
	for _, p := range rule.Presets() {
		all = append(all, p.Name)
	}
	return all
}

func quicks() (all []string) {
	for _, f := range quickFilters {
		all = append(all, f.Name)
	}
	return all
}

func names[T interface{ String() string }](values ...T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.String()
	}
	return all
}

// used are the names of the texts that pages and programs ask for.
func used(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for family, words := range families {
		for _, w := range words {
			found[family+"."+w] = "a family of words"
		}
	}
	for done := range dones {
		found["done."+done] = "what was done"
	}
	inPages := regexp.MustCompile(`\bt "([a-z0-9_.]+)"`)
	inCode := regexp.MustCompile(`"([a-z]+\.[a-z0-9_.]+)"`)
	texts, err := readTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	look := func(files fs.FS, pattern string, name *regexp.Regexp, sure bool) {
		all, err := fs.Glob(files, pattern)
		if err != nil || len(all) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range all {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			data, err := fs.ReadFile(files, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range name.FindAllStringSubmatch(string(data), -1) {
				if _, is := texts[m[1]]; is || sure {
					found[m[1]] = file
				}
			}
		}
	}
	look(pageFiles, "pages/*.html", inPages, true)
	look(os.DirFS("."), "*.go", inCode, false)
	for _, f := range faultTexts(texts, true) {
		found[f.name] = "an attempt" // and TestEveryFaultIsKnown knows which
	}
	for code, where := range codes(t) {
		found["problem."+code] = where
	}
	// What say and fail are given must be there, too.
	look(os.DirFS("."), "*.go", regexp.MustCompile(`(?:say|refuse|fail|view)\((?:http\.Status\w+, )?"([a-z0-9_.]+[a-z0-9_])"`), true)
	return found
}

func TestEveryTextIsInEachLanguageAndUsed(t *testing.T) {
	wanted := used(t)
	for _, l := range languages {
		texts, err := readTexts(l.code)
		if err != nil {
			t.Fatal(err)
		}
		for name, where := range wanted {
			if texts[name] == "" {
				t.Errorf("text %q, which %s uses, is missing in words/%s.json", name, where, l.code)
			}
		}
		for name := range texts {
			if wanted[name] == "" {
				t.Errorf("text %q in words/%s.json is used by nothing", name, l.code)
			}
		}
	}
}

func TestTextsSayTheSame(t *testing.T) {
	hole := regexp.MustCompile(`\{\w+\}`)
	en, err := readTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	zh, err := readTexts("zh")
	if err != nil {
		t.Fatal(err)
	}
	same := []string{"body.json"} // what is the same in both
	for name, text := range en {
		a, b := hole.FindAllString(text, -1), hole.FindAllString(zh[name], -1)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			t.Errorf("text %q has the holes %v in English and %v in Chinese", name, a, b)
		}
		if text == zh[name] && !slices.Contains(same, name) {
			t.Errorf("text %q is the same in both languages: %q", name, text)
		}
	}
}

func TestPagesHaveNoTextOfTheirOwn(t *testing.T) {
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	tag := regexp.MustCompile(`(?s)<[^>]*>`)
	word := regexp.MustCompile(`[A-Za-z\p{Han}]{2,}`)
	attribute := regexp.MustCompile(`(?:title|aria-label|placeholder|data-confirm)="([^"]*)"`)
	// Names that are the same in every language.
	own := []string{"bellman", "OpenAPI", "metrics", "HTTP", "UTC", "DNS", "TCP", "TLS", "English", "中文"}
	for _, file := range files {
		data, err := pageFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := action.ReplaceAllString(string(data), "")
		texts := tag.ReplaceAllString(page, " ")
		for _, m := range attribute.FindAllStringSubmatch(page, -1) {
			texts += " " + m[1]
		}
		for _, w := range word.FindAllString(texts, -1) {
			if !slices.Contains(own, w) && !regexp.MustCompile(`^(1m|10m|1h|6h|24h)$`).MatchString(w) {
				t.Errorf("%s says %q in no language's words", file, w)
			}
		}
	}
}

func TestPreferred(t *testing.T) {
	tests := []struct{ header, want string }{
		{"", "en"},
		{"de-DE,de;q=0.9", "en"},
		{"zh-CN,zh;q=0.9,en;q=0.8", "zh"},
		{"zh", "zh"},
		{"en;q=0.5, zh-TW;q=0.8", "zh"},
		{"en-GB, zh;q=0.9", "en"},
		{"zh;q=nonsense, en", "en"},
		{"ZH-hans", "zh"},
	}
	for _, tt := range tests {
		if got := preferred(tt.header); got != tt.want {
			t.Errorf("preferred(%q) = %q; want %q", tt.header, got, tt.want)
		}
	}
}

// What an import wants instead of a value of the wrong type is said for every field of its lines.
func TestEveryTypeOfAnImportHasWords(t *testing.T) {
	en, err := readTexts("en")
	if err != nil {
		t.Fatal(err)
	}
	var look func(of reflect.Type)
	look = func(of reflect.Type) {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if en["import.want."+of.Kind().String()] == "" {
			t.Errorf("there are no words for a field of type %v", of)
		}
		switch of.Kind() {
		case reflect.Struct:
			for i := range of.NumField() {
				look(of.Field(i).Type)
			}
		case reflect.Map, reflect.Slice:
			look(of.Elem())
		}
	}
	look(reflect.TypeFor[client.PutMerchant]())
	look(reflect.TypeFor[client.PutAccount]())
}
