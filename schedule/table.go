package schedule

import (
	"bufio"
	"fmt"
	"io"
)

// WriteTable prints one line for each attempt: offset from the start of the schedule, gap from the
// previous attempt, total from the first attempt. Below the table it prints the number of attempts
// and their total time. It prints at most limit attempts (0: 100), and says so if there are more.
func (s *Schedule) WriteTable(w io.Writer, limit int) error {
	if limit <= 0 {
		limit = 100
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%7s  %10s  %10s  %10s\n", "attempt", "offset", "gap", "total")
	for row := range s.Rows() {
		if row.Number > limit {
			fmt.Fprintf(out, "%7s  cut after %d attempts\n", "…", limit)
			break
		}
		fmt.Fprintf(out, "%7d  %10s  %10s  %10s\n", row.Number,
			FormatDuration(row.Offset), FormatDuration(row.Gap), FormatDuration(row.Total))
	}

	if n, finite := s.Attempts(); finite {
		total, _ := s.Total()
		plural := "s"
		if n == 1 {
			plural = ""
		}
		fmt.Fprintf(out, "%d attempt%s, total %s\n", n, plural, FormatDuration(total))
	} else {
		fmt.Fprintf(out, "without end: every %s, until accepted\n", FormatDuration(s.runs[len(s.runs)-1].gap))
	}
	if s.max > 0 {
		fmt.Fprintf(out, "nothing is due after age %s\n", FormatDuration(s.max))
	}
	if s.jitter > 0 {
		fmt.Fprintf(out, "each gap may be up to %d%% longer\n", s.jitter)
	}
	return out.Flush()
}
