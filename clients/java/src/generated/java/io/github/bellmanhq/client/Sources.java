// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * Sources, as the API has it. Nulls are what the answer left out, or says to be null.
 *
 * @param intake see the API
 * @param sources see the API
 */
public record Sources(
        Intake intake,
        List<Source> sources) {
    static Sources of(Object json) {
        var r = Shape.Reader.of("Sources", json);
        return new Sources(
                r.shape("intake", Intake::of),
                r.list("sources", Source::of));
    }
}
