// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * TaskPage, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param nextCursor Where the next page begins; empty at the end, and only there: a page with few tasks, or none, may have one that follows.
 * @param tasks see the API
 * @param warning Why the list may be empty by mistake: there is no queue of the name that was asked for.
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
