package console

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// A faultText is a reason that bellman itself gives of an attempt. Records keep it as
// English text; by what it looks like it is found again, and said in other languages.
type faultText struct {
	name  string
	look  *regexp.Regexp
	piece string   // the longest part that is given, for a quick look
	holes []string // {a}, {b} …, in their order in the text
	exact int      // characters that are given
}

var hole = regexp.MustCompile(`\{[a-z]\}`)

// faultTexts are the reasons of the English catalogue: those whose names begin with
// fault., or with library. for what Go's and CEL's libraries say, and with parts those that
// stand within them. Who says most of itself comes first.
func faultTexts(english map[string]string, parts bool) []faultText {
	var all []faultText
	for name, text := range english {
		if !strings.HasPrefix(name, "fault.") && !strings.HasPrefix(name, "library.") && !(parts && strings.HasPrefix(name, "within.")) {
			continue
		}
		f := faultText{name: name, holes: hole.FindAllString(text, -1)}
		pieces := hole.Split(text, -1)
		for i, piece := range pieces {
			f.exact += len(piece)
			if len(piece) > len(f.piece) {
				f.piece = piece
			}
			pieces[i] = regexp.QuoteMeta(piece)
		}
		f.look = regexp.MustCompile("(?s)^" + strings.Join(pieces, "(.+?)") + "$")
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b faultText) int { return cmp.Or(b.exact-a.exact, strings.Compare(a.name, b.name)) })
	return all
}

// maxFaultDepth is how many reasons stand within one another.
const maxFaultDepth = 5

// fault says why an attempt failed, in the language of the page as far as bellman knows
// the words. What others say, and what is of another kind, stays as it came.
func (l *language) fault(text string) string { return plain(l.faultIn(text, l.faults, maxFaultDepth)) }

// within is fault of what stands within another text, after which it is shown.
func (l *language) within(text string) string {
	return plain(l.faultIn(text, l.faultParts, maxFaultDepth))
}

func (l *language) faultIn(text string, known []faultText, depth int) string {
	if depth == 0 {
		return text
	}
	for i := range known {
		f := &known[i]
		if !strings.Contains(text, f.piece) {
			continue
		}
		found := f.look.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		var values []string
		for i, at := range f.holes {
			values = append(values, at, l.faultIn(found[i+1], l.faultParts, depth-1))
		}
		return strings.NewReplacer(values...).Replace(l.texts[f.name])
	}
	return text
}
