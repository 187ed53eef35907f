// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Backlog, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param more There are more.
 * @param oldestOverdue Due time of the one among them that has waited longest; null: none is overdue.
 * @param pending The newest 100 are counted.
 */
public record Backlog(
        boolean more,
        Instant oldestOverdue,
        int pending) {
    static Backlog of(Object json) {
        var r = Shape.Reader.of("Backlog", json);
        return new Backlog(
                r.bool("more", false),
                r.time("oldest_overdue"),
                r.int32("pending", 0));
    }
}
