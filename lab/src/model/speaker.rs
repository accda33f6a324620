//! Text to vectors with attention: a small Tacotron in spirit (paper 2).

use lengthwise_nn::{Attention, Engine, EngineError, Frame, Linear, Recurrent, Tape, Value};

use super::layout::{Layout, Placed};

/// Says one vector after another: a layer that hears what was said before asks where in the text it is,
/// and a second layer says what comes next.
///
/// It is taught by what really was said before (teacher forcing), so all steps of a layer go at once.
/// Tacotron also tells the asking layer what it found a step ago; this one does not, because that
/// would chain every step to attention and back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Speaker {
    text_width: usize,
    listen: Placed<Recurrent>,
    query: Placed<Linear>,
    key: Placed<Linear>,
    speak: Placed<Recurrent>,
    head: Placed<Linear>,
}

impl Speaker {
    pub(super) fn new(
        layout: &mut Layout,
        units: usize,
        text_width: usize,
        outputs: usize,
    ) -> Self {
        let forward = |inputs| Recurrent { inputs, units, both: false };
        Self {
            text_width,
            listen: layout.recurrent("listen", forward(outputs)),
            query: layout.linear("query", Linear { inputs: units, outputs: units }),
            key: layout.linear("key", Linear { inputs: text_width, outputs: units }),
            speak: layout.recurrent("speak", forward(units + text_width)),
            head: layout.linear("head", Linear { inputs: units, outputs }),
        }
    }

    pub(super) fn outputs(&self) -> usize {
        self.head.layer.outputs
    }

    /// Says what follows each vector of `spoken`, given text that went through its layers.
    pub(super) fn speak<E: Engine>(
        &self,
        tape: &mut Tape<'_, E>,
        text: Value,
        text_frame: &Frame,
        frame: &Frame,
        spoken: &[f32],
    ) -> Result<Value, EngineError> {
        let step = frame.rows() * self.outputs();
        let mut before = vec![0.0; spoken.len()];
        before[step..].copy_from_slice(&spoken[..spoken.len() - step]);
        let before = tape.given(before)?;
        let heard = tape.recurrent(self.listen.layer, self.listen.at, frame, before)?;
        let queries = tape.linear(self.query.layer, self.query.at, frame, heard)?;
        let keys = tape.linear(self.key.layer, self.key.at, text_frame, text)?;
        let shape = Attention {
            queries: frame.clone(),
            keys: text_frame.clone(),
            width: self.key.layer.outputs,
            value_width: self.text_width,
        };
        let found = tape.attend(shape, queries, keys, text)?;
        let both = tape.join(heard, found, (self.listen.layer.units, self.text_width))?;
        let said = tape.recurrent(self.speak.layer, self.speak.at, frame, both)?;
        tape.linear(self.head.layer, self.head.at, frame, said)
    }
}
