// Decides where every frame goes: for each, the descriptor of the whole image, then that of its trailer.
// Frames without credit, or at an address that the memory reader cannot serve, are dropped whole and counted.
// Not yet: regions of interest, several flows, several destinations.
module bd_gen
  import framelane_pkg::*;
#(
    parameter int unsigned DataW = 512  // of the memory reader: frames start at multiples of its width
) (
    input logic clk,
    input logic rst,

    // Configuration, stable except in reset
    input flow_t       flow_i,
    input logic [ 3:0] mtu_log2_i,  // path MTU of the flow's QP

    // Credit: frame n may be sent only if n < window_end
    input logic [63:0] window_end_i,

    // Frames that are ready to be sent, with rising numbers
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,

    // Descriptors, to the memory reader and the packetizer
    output bd_t  m_axis_bd_tdata,
    output logic m_axis_bd_tvalid,
    input  logic m_axis_bd_tready,

    // Contents of the trailers, in the order of their descriptors
    output trailer_t m_axis_trailer_tdata,
    output logic     m_axis_trailer_tvalid,
    input  logic     m_axis_trailer_tready,

    // Counters since reset
    output logic [63:0] frames_sent_o,     // handed over whole: packets may still be under way
    output logic [63:0] frames_dropped_o,  // for want of credit
    output logic [63:0] frames_refused_o,  // misaligned address, or an image of 0 bytes

    output logic idle_o  // no frame is being served
);

  localparam logic [31:0] TRAILER_BYTES = 32'd64;
  localparam int unsigned ALIGN_W = $clog2(DataW / 8);

  typedef enum logic [2:0] {
    IDLE,      // waits for a frame
    ADMIT,     // drops it, or finds its slot from that of the last frame
    DIVIDE,    // the numbers have jumped: slot = number mod n_slots, one bit a cycle
    ADDRESS,   // multiplies the slot by its size
    IMAGE,     // offers the image's descriptor
    FINISH,    // offers the trailer's descriptor
    CONTENTS   // offers the trailer's contents
  } state_e;

  state_e state_q, state_d;
  frame_t frame_q;
  logic [63:0] next_q;  // the number after the last one that had a slot
  logic [31:0] slot_q, next_slot;
  logic [63:0] number_q;  // dividend, shifted out
  logic [32:0] remainder, remainder_less;
  logic [ 5:0] step_q;
  logic [63:0] at_q;
  logic unservable, no_credit;

  assign unservable = frame_q.address[ALIGN_W-1:0] != '0 || flow_i.image_bytes == '0;
  assign no_credit = frame_q.number >= window_end_i;
  assign next_slot = slot_q + 1 == flow_i.n_slots ? '0 : slot_q + 1;

  // Restoring division: the remainder is smaller than n_slots before each step, so 33 bits hold it doubled.
  assign remainder = {slot_q, number_q[63]};
  assign remainder_less = remainder - {1'b0, flow_i.n_slots};

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (s_axis_frame_tvalid) state_d = ADMIT;
      ADMIT:
      if (unservable || no_credit) state_d = IDLE;
      else if (frame_q.number == next_q) state_d = ADDRESS;
      else state_d = DIVIDE;
      DIVIDE: if (step_q == '1) state_d = ADDRESS;
      ADDRESS: state_d = IMAGE;
      IMAGE: if (m_axis_bd_tready) state_d = FINISH;
      FINISH: if (m_axis_bd_tready) state_d = CONTENTS;
      CONTENTS: if (m_axis_trailer_tready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    unique case (state_q)
      IDLE: frame_q <= s_axis_frame_tdata;
      ADMIT: begin
        number_q <= frame_q.number;
        step_q   <= '0;
        if (state_d == ADDRESS) slot_q <= next_slot;
        if (state_d == DIVIDE) slot_q <= '0;
        if (unservable) frames_refused_o <= frames_refused_o + 1;
        else if (no_credit) frames_dropped_o <= frames_dropped_o + 1;
      end
      DIVIDE: begin
        slot_q   <= remainder_less[32] ? remainder[31:0] : remainder_less[31:0];
        number_q <= number_q << 1;
        step_q   <= step_q + 1'b1;
      end
      ADDRESS: begin
        at_q   <= flow_i.base + 64'(slot_q) * 64'(flow_i.slot_bytes);
        next_q <= frame_q.number + 1;
      end
      CONTENTS: if (m_axis_trailer_tready) frames_sent_o <= frames_sent_o + 1;
      default: ;
    endcase

    if (rst) begin
      state_q <= IDLE;
      next_q <= '0;
      slot_q <= flow_i.n_slots - 1;  // the frame before number 0
      frames_sent_o <= '0;
      frames_dropped_o <= '0;
      frames_refused_o <= '0;
    end
  end

  assign s_axis_frame_tready = state_q == IDLE;
  assign idle_o = state_q == IDLE;

  assign m_axis_bd_tvalid = state_q == IMAGE || state_q == FINISH;
  always_comb begin
    m_axis_bd_tdata = '0;
    m_axis_bd_tdata.qp = flow_i.qp;
    if (state_q == FINISH) begin
      m_axis_bd_tdata.destination = at_q + 64'(flow_i.trailer_offset);
      m_axis_bd_tdata.length = TRAILER_BYTES;
      m_axis_bd_tdata.last = 1'b1;
      m_axis_bd_tdata.imm = {flow_i.source, frame_q.number[23:0]};
    end else begin
      m_axis_bd_tdata.source = frame_q.address;
      m_axis_bd_tdata.destination = at_q;
      m_axis_bd_tdata.length = {1'b0, flow_i.image_bytes};
    end
  end

  assign m_axis_trailer_tvalid = state_q == CONTENTS;
  assign m_axis_trailer_tdata = '{
          source: 16'(flow_i.source),
          slot: slot_q,
          frame_number: frame_q.number,
          timestamp_ns: frame_q.timestamp_ns,
          bunch_id: frame_q.bunch_id,
          payload_bytes: {1'b0, flow_i.image_bytes},
          packets: ({1'b0, flow_i.image_bytes} + (32'd1 << mtu_log2_i) - 1) >> mtu_log2_i,
          frames_dropped: frames_dropped_o + frames_refused_o
      };

endmodule
