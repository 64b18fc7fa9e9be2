// One side of a crossing that both sides' resets restart: there are two of these, each with the other's state as its peer.
// A reset of either stops both, then clears both, then lets both go on: neither ever sees the other's pointers jump. The side that is
// not reset stops when it is quiet, and so ends what it is in. A side whose clock stands holds the other up.
module cdc_restart (
    input logic clk,
    input logic rst,

    input  logic       quiet_i,  // nothing is broken off if this side stops with the next edge
    input  logic [1:0] peer_i,   // the other side's state_o, in its clock
    output logic [1:0] state_o,
    output logic       ending_o, // the other side has stopped
    output logic       stop_o,   // nothing goes in or out here
    output logic       clear_o   // what both sides share is cleared here
);

  // One bit changes at a time. Neither side is more than one step ahead: it goes on when it has seen that the other has followed,
  // and for so long that all that was cleared has been seen as well.
  typedef enum logic [1:0] {
    RUN   = 2'b00,
    STOP  = 2'b10,
    CLEAR = 2'b11,
    DONE  = 2'b01
  } state_e;

  localparam int unsigned SETTLED = 7;  // cycles; more than the stages of any cdc_gray

  logic [1:0] state_q = RUN;
  logic wanted_q = 1'b0;  // a reset that has not yet led to STOP
  logic [2:0] seen_q = '0;
  logic [1:0] peer, state_d;
  logic follows;

  cdc_bits #(
      .Width(2)
  ) u_peer (
      .clk,
      .bits_i(peer_i),
      .bits_o(peer)
  );

  always_comb begin
    unique case (state_q)
      STOP: follows = peer == STOP || peer == CLEAR;
      CLEAR: follows = (peer == CLEAR || peer == DONE) && !rst;
      DONE: follows = peer == DONE || peer == RUN;
      default: follows = 1'b0;
    endcase
    state_d = state_q;
    if (state_q == RUN) begin
      if ((rst || wanted_q) && (peer == RUN || peer == STOP)) state_d = STOP;
      if (peer == STOP && quiet_i) state_d = STOP;
    end else if (follows && seen_q == 3'(SETTLED)) begin
      unique case (state_q)
        STOP: state_d = CLEAR;
        CLEAR: state_d = DONE;
        default: state_d = RUN;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    seen_q <= follows && state_d == state_q ? seen_q + 3'(seen_q != 3'(SETTLED)) : '0;
    wanted_q <= (rst || wanted_q) && state_d != STOP && state_q != CLEAR;
  end

  assign state_o = state_q;
  assign ending_o = peer == STOP;
  assign stop_o = state_q != RUN || rst || wanted_q;
  assign clear_o = state_q == CLEAR;

endmodule
