// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * TaskPage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param nextCursor Cursor of the next page; empty only at the end. A page with few tasks, or none, may be followed by another.
 * @param tasks see the API
 * @param warning Why the list may be empty by mistake: no queue has the requested name.
 */
public record TaskPage(
        String nextCursor,
        List<Task> tasks,
        String warning) {
    static TaskPage of(Object json) {
        var r = Shape.Reader.of("TaskPage", json);
        return new TaskPage(
                r.text("next_cursor"),
                r.list("tasks", Task::of),
                r.text("warning"));
    }
}
