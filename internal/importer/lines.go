package importer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bellmanhq/bellman/client"
	jsonlines "github.com/bellmanhq/bellman/internal/lines"
)

// maxLine is the longest line of NDJSON.
const maxLine = 1 << 20

// errEncoding is the error for text in another encoding. JSON cannot carry its bytes: the client
// would replace them.
var errEncoding = errors.New("is not UTF-8: save the file as UTF-8, and import it again")

// NDJSON reads a task from each line, as POST /v1/tasks accepts it. queue is the default queue. A
// line without a key gets one made of its content, so the same line is the same task.
func NDJSON(in io.Reader, queue string) Source {
	r := bufio.NewReaderSize(in, 64<<10)
	return &lines{read: func(n int) (Row, error) {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return Row{}, err
		}
		if err != nil {
			return Row{}, fmt.Errorf("line %d: %w", n, err)
		}
		row := Row{Where: "line " + strconv.Itoa(n), Task: client.CreateTask{}}
		if n == 1 {
			text = bytes.TrimPrefix(text, []byte("\ufeff"))
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			row.Skip = "is empty"
			return row, nil
		}
		if !utf8.Valid(text) {
			row.Wrong = errEncoding
			return row, nil
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&row.Task); err != nil {
			row.Wrong = jsonlines.Undecoded(err)
		} else if _, err := d.Token(); !errors.Is(err, io.EOF) {
			row.Wrong = errors.New("has more than one JSON value: want one task a line")
		} else {
			row.Wrong = jsonlines.Once(text)
		}
		named(&row.Task, queue, text)
		return row, nil
	}}
}

// readLine reads one line of at most maxLine bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("is longer than %d bytes: is this NDJSON?", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		default:
			return line, nil
		}
	}
}

// named gives a task the queue and the key that its line lacks.
func named(t *client.CreateTask, queue string, text []byte) {
	t.Queue = cmp.Or(t.Queue, queue)
	if t.Key == "" {
		sum := sha256.Sum256(text)
		t.Key = "import/" + hex.EncodeToString(sum[:16])
	}
}

// columns are the columns of a CSV file, except header.NAME.
var columns = map[string]func(t *client.CreateTask, value string) error{
	"queue":       func(t *client.CreateTask, v string) error { t.Queue = v; return nil },
	"key":         func(t *client.CreateTask, v string) error { t.Key = v; return nil },
	"merchant_no": func(t *client.CreateTask, v string) error { t.MerchantNo = v; return nil },
	"order_no":    func(t *client.CreateTask, v string) error { t.OrderNo = v; return nil },
	"event":       func(t *client.CreateTask, v string) error { t.Event = v; return nil },
	"url":         func(t *client.CreateTask, v string) error { t.URL = v; return nil },
	"method":      func(t *client.CreateTask, v string) error { t.Method = v; return nil },
	"body":        func(t *client.CreateTask, v string) error { t.Body = v; return nil },
	"delay":       func(t *client.CreateTask, v string) error { t.Delay = v; return nil },
	"schedule":    func(t *client.CreateTask, v string) error { t.Schedule = v; return nil },
	"success":     func(t *client.CreateTask, v string) error { t.Success = v; return nil },
	"timeout":     func(t *client.CreateTask, v string) error { t.Timeout = v; return nil },
	"max_age":     func(t *client.CreateTask, v string) error { t.MaxAge = v; return nil },
	"due":         func(t *client.CreateTask, v string) error { return at(&t.Due, v) },
	"json": func(t *client.CreateTask, v string) error {
		if !json.Valid([]byte(v)) {
			return errors.New("is not JSON")
		}
		t.JSON = json.RawMessage(v)
		return nil
	},
	"attempts": func(t *client.CreateTask, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			return errors.New("want how many were made, 0 or more")
		}
		if n > 0 {
			resumed(t).Attempts = n
		}
		return nil
	},
	"last":  func(t *client.CreateTask, v string) error { return at(&resumed(t).Last, v) },
	"began": func(t *client.CreateTask, v string) error { return at(&resumed(t).Began, v) },
}

func resumed(t *client.CreateTask) *client.Resume {
	if t.Resume == nil {
		t.Resume = &client.Resume{}
	}
	return t.Resume
}

func at(to *client.Time, value string) error {
	if to.UnmarshalText([]byte(value)) != nil {
		return errors.New("want a time such as 2026-11-20T15:04:05Z")
	}
	return nil
}

// CSV reads a task from each record. The first record names the columns: the fields of POST
// /v1/tasks, header.NAME for a header, and attempts, last and began for the state of the task in
// the other system. An empty value is no value.
func CSV(in io.Reader, queue string) (Source, error) {
	buffered := bufio.NewReader(in)
	if mark, err := buffered.Peek(3); err == nil && string(mark) == "\ufeff" {
		buffered.Discard(3)
	}
	r := csv.NewReader(buffered)
	names, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("line 1: want the columns' names: %w", err)
	}
	seen := map[string]bool{}
	for i, name := range names {
		name = strings.TrimSpace(name)
		names[i] = name
		if _, is := columns[name]; !is && !strings.HasPrefix(name, "header.") {
			return nil, fmt.Errorf("line 1: column %.64q is unknown: want %s or header.NAME", name, strings.Join(slices.Sorted(maps.Keys(columns)), ", "))
		}
		if seen[name] {
			return nil, fmt.Errorf("line 1: column %.64q is there twice: want it once", name)
		}
		seen[name] = true
	}
	return &lines{read: func(int) (Row, error) {
		record, err := r.Read()
		if bad, is := errors.AsType[*csv.ParseError](err); is && !errors.Is(err, csv.ErrFieldCount) {
			return Row{}, fmt.Errorf("line %d: the quotes are wrong (line %d, column %d: %w), so the lines after it cannot be told apart: correct it", bad.StartLine, bad.Line, bad.Column, bad.Err)
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return Row{}, err
		}
		line, _ := r.FieldPos(0)
		row := Row{Where: "line " + strconv.Itoa(line)}
		if err != nil {
			row.Wrong = fmt.Errorf("has %d values for %d columns", len(record), len(names))
			return row, nil
		}
		for i, value := range record {
			if value == "" || row.Wrong != nil {
				continue
			}
			if !utf8.ValidString(value) {
				row.Wrong = fmt.Errorf("%s: %w", names[i], errEncoding)
			} else if header, is := strings.CutPrefix(names[i], "header."); is {
				if row.Task.Headers == nil {
					row.Task.Headers = map[string]string{}
				}
				row.Task.Headers[header] = value
			} else if err := columns[names[i]](&row.Task, value); err != nil {
				row.Wrong = fmt.Errorf("%s: %w", names[i], err)
			}
		}
		if row.Wrong == nil {
			row.Wrong = halfResumed(row.Task.Resume)
		}
		named(&row.Task, queue, []byte(strings.Join(record, "\x00")))
		return row, nil
	}}, nil
}

// halfResumed returns what is missing of a task's state in the other system.
func halfResumed(r *client.Resume) error {
	switch {
	case r == nil:
		return nil
	case r.Attempts == 0:
		return errors.New("attempts: is missing, or 0, and last or began is given: want how many were made, or neither of them")
	case r.Last.IsZero():
		return fmt.Errorf("last: is missing after %d attempts: want when the last of them began, such as 2026-11-20T15:04:05Z", r.Attempts)
	}
	return nil
}

// lines is a source that reads one row after another.
type lines struct {
	read func(n int) (Row, error) // returns row n, from 1; io.EOF at the end
	n    int
	err  error // the end, or why reading ended
}

func (l *lines) Next(ctx context.Context, limit int) ([]Row, error) {
	var rows []Row
	for len(rows) < limit && l.err == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		l.n++
		var row Row
		if row, l.err = l.read(l.n); l.err == nil {
			rows = append(rows, row)
		}
	}
	if len(rows) > 0 || errors.Is(l.err, io.EOF) {
		return rows, nil // an error follows the rows before it
	}
	return nil, l.err
}

func (l *lines) Close() error { return nil }
