// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Source, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param dead Messages that are no valid task, and went to the dead letters.
 * @param existing Messages whose task existed already.
 * @param failures How often the broker could not be reached, or the connection broke.
 * @param inHand Messages that were received and not yet confirmed to the broker.
 * @param into The default queue.
 * @param lastError The latest error; empty: none.
 * @param lastErrorAt see the API
 * @param name CONNECTION/QUEUE, or CONNECTION/STREAM/DURABLE.
 * @param since When the state began.
 * @param state paused: intake is closed, and messages stay with the broker.
 * @param stored Messages that became tasks.
 * @param why Why the source is paused, or the error of connecting.
 */
public record Source(
        long dead,
        long existing,
        long failures,
        int inHand,
        String into,
        String lastError,
        Instant lastErrorAt,
        String name,
        Instant since,
        SourceState state,
        long stored,
        String why) {
    static Source of(Object json) {
        var r = Shape.Reader.of("Source", json);
        return new Source(
                r.int64("dead", 0L),
                r.int64("existing", 0L),
                r.int64("failures", 0L),
                r.int32("in_hand", 0),
                r.text("into"),
                r.text("last_error"),
                r.time("last_error_at"),
                r.text("name"),
                r.time("since"),
                r.shape("state", SourceState::of),
                r.int64("stored", 0L),
                r.text("why"));
    }
}
