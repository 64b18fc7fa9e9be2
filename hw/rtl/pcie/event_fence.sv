// The fence of the event that is next: a read of no bytes behind its frame, whose completion says that all before it has arrived. One is under
// way at a time. A completion that does not come in time, or that is an error, becomes the event's status; one of another tag is passed over.
module event_fence
  import pcie_pkg::*;
(
    input logic clk,
    input logic rst,

    // Software
    input logic        fence_i,  // there is one before each event
    input logic [23:0] limit_i,  // cycles that it waits at most

    // Completions of reads
    input logic       completion_i,
    input logic [4:0] completion_tag_i,
    input logic       completion_bad_i,  // it is an error, or poisoned

    // The event that is next; pulses
    input logic    ready_i,        // level: its frame has ended, and the queue has room
    input logic    sent_i,         // the fence that is asked for is on its way
    input logic    ended_i,        // as a descriptor: it has been sent, or could not be
    input status_e ended_status_i,
    input logic    over_i,         // the event is on its way, or lost

    output logic       asks_o,    // a fence with `tag_o` goes first
    output logic [4:0] tag_o,
    output logic       waits_o,   // for its completion
    output logic       passes_o,  // the event may go
    output status_e    status_o,  // of the fence, with passes_o

    // Pulses
    output logic unanswered_o,  // no completion came in time
    output logic refused_o,     // an error came
    output logic unexpected_o   // a completion came for which nobody waits
);

  typedef enum logic [1:0] {
    ASK,    // a fence goes first, where there is to be one
    WAIT,   // for its completion, or for its time to be over
    ANSWER  // the event may go
  } state_e;

  state_e state_q, state_d;
  logic under_way_q;  // a fence that has not ended as a descriptor: also one whose time was over before
  logic answered, late, unsent;
  logic [4:0] tag_q;
  logic [23:0] left_q;  // cycles
  status_e status_q;

  assign answered = state_q == WAIT && completion_i && completion_tag_i == tag_q;
  assign unsent = state_q == WAIT && ended_i && ended_status_i != OK;
  assign late = state_q == WAIT && left_q == '0;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      ASK: if (asks_o && sent_i) state_d = WAIT;
      WAIT: if (answered || unsent || late) state_d = ANSWER;
      ANSWER: ;
      default: state_d = ASK;
    endcase
    if (over_i) state_d = ASK;
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    left_q <= state_q == WAIT ? left_q - 1'b1 : limit_i;
    if (state_q == WAIT) begin
      if (answered) status_q <= completion_bad_i ? FENCE_REFUSED : OK;
      else if (unsent) status_q <= ended_status_i;
      else if (late) status_q <= UNANSWERED;
      if (state_d != WAIT) tag_q <= tag_q + 1'b1;  // so a completion that comes later is not the next one's
    end
    under_way_q <= (asks_o && sent_i) || (under_way_q && !ended_i);
    if (rst) begin
      state_q <= ASK;
      under_way_q <= 1'b0;
      tag_q <= '0;
    end
  end

  assign asks_o = ready_i && fence_i && state_q == ASK && !under_way_q;
  assign tag_o = tag_q;
  assign waits_o = state_q == WAIT;
  assign passes_o = ready_i && (!fence_i || state_q == ANSWER);
  assign status_o = state_q == ANSWER ? status_q : OK;
  assign unanswered_o = late && !answered && !unsent;
  assign refused_o = answered && completion_bad_i;
  assign unexpected_o = completion_i && !answered;

endmodule
