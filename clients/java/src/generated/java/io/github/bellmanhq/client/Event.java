// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Event, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param added The task was just created.
 * @param task The task now; last is the attempt of this event, or null.
 * @param attempt Trigger of the attempt; only in attempt events.
 */
public record Event(
        boolean added,
        Task task,
        Attempt attempt) {
    static Event of(Object json) {
        var r = Shape.Reader.of("Event", json);
        return new Event(
                r.bool("added", false),
                r.shape("task", Task::of),
                r.shape("attempt", Attempt::of));
    }
}
