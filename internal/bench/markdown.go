package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteMarkdown prints the report as a section of docs/performance.md has it: machine, date, commit
// and command, then each figure with its goal, and a chart of each series.
func (r *Report) WriteMarkdown(w io.Writer) error {
	m := r.Machine
	about := []string{fmt.Sprintf("%d × %s, %s/%s, %s; %s", m.CPUs, m.CPU, m.OS, m.Arch, m.Go, m.Store), r.Started.Format(time.DateOnly)}
	switch {
	case len(m.Code) == 40:
		about = append(about, "commit "+m.Code[:8])
	case m.Code != "" && m.Code != "(devel)":
		about = append(about, "version "+m.Code)
	}
	if r.Quick {
		about = append(about, "small sizes")
	}
	if r.Others > 0.05 {
		about = append(about, fmt.Sprintf("while other programs took %.0f %% of the processors", 100*r.Others))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: `%s`\n\n| what | goal | measured |\n| --- | --- | --- |\n", strings.Join(about, "; "), r.Command)
	for _, f := range r.Figures {
		measured := grouped(number(f.Value, f.Unit))
		if f.Base > 0 {
			measured += fmt.Sprintf(", %.2f × %s", f.Ratio, f.BaseName)
		}
		if f.Met != nil && !*f.Met {
			measured += ", missed"
		}
		fmt.Fprintf(&b, "| `%s`: %s | %s | %s |\n", f.Scenario, f.Name, f.Required, measured)
	}
	fence := "\n```text"
	for _, f := range r.Figures {
		if f.Series != nil {
			b.WriteString(fence)
			chart(&b, f)
			fence = ""
		}
	}
	if fence == "" {
		b.WriteString("```\n")
	}
	for i, broken := range r.Failures {
		fmt.Fprintf(&b, "%s- **Promise not kept:** %s\n", map[bool]string{true: "\n"}[i == 0], broken)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// grouped puts commas between the thousands of the number with which a text begins.
func grouped(text string) string {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	for i := digits - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
