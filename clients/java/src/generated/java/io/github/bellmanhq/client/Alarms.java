// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Alarms, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param alarms Raised alarms, then alarms that ended within a day, or within a week if they have affected; the newest first.
 * @param rules see the API
 */
public record Alarms(
        List<Alarm> alarms,
        List<AlarmRule> rules) {
    static Alarms of(Object json) {
        var r = Shape.Reader.of("Alarms", json);
        return new Alarms(
                r.list("alarms", Alarm::of),
                r.list("rules", AlarmRule::of));
    }
}
