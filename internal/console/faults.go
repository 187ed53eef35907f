package console

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// A faultText is one of bellman's own reasons for a failed attempt. Records hold the English text;
// its pattern recognizes it, so that pages can show it in another language.
type faultText struct {
	name  string
	look  *regexp.Regexp
	piece string   // the longest constant part, for a quick comparison
	holes []string // {a}, {b} …, in the order of the text
	exact int      // number of constant characters
}

var hole = regexp.MustCompile(`\{[a-z]\}`)

// faultTexts returns the reasons in the English catalogue: names that begin with fault., or with
// library. for texts of Go's and CEL's libraries. With parts it adds those that occur only within
// other texts. The most specific come first.
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

// maxFaultDepth is how deep reasons may be nested.
const maxFaultDepth = 5

// fault translates the reason of a failed attempt as far as its words are bellman's. Other texts
// stay as they are.
func (l *language) fault(text string) string {
	return plain(l.faultIn(text, l.faults(), maxFaultDepth))
}

// Chinese returns a reason of a failed attempt, or why an order needs action, in Chinese, as far as
// its words are bellman's.
func Chinese(why string) string {
	all, err := allLanguages()
	if err != nil {
		return why // New reports the error
	}
	return all["zh"].fault(why)
}

// within is fault for a text that is embedded in another text.
func (l *language) within(text string) string {
	return plain(l.faultIn(text, l.faultParts(), maxFaultDepth))
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
			values = append(values, at, l.faultIn(found[i+1], l.faultParts(), depth-1))
		}
		return strings.NewReplacer(values...).Replace(l.texts[f.name])
	}
	return text
}
