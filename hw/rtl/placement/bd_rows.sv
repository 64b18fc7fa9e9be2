// Rows to descriptors: one transfer a row, one a clock, longer ones split; then the trailer's descriptor and its contents.
module bd_rows
  import framelane_pkg::*;
(
    input logic clk,
    input logic rst,

    // Rectangles with all their addresses, and ends of frames
    input  placed_t s_axis_placed_tdata,
    input  logic    s_axis_placed_tvalid,
    output logic    s_axis_placed_tready,

    // Path MTU of a QP, answered in the same cycle
    output logic [7:0] mtu_index_o,
    input  logic [3:0] mtu_log2_i,

    // Descriptors, to the memory reader and the packetizer
    output bd_t  m_axis_bd_tdata,
    output logic m_axis_bd_tvalid,
    input  logic m_axis_bd_tready,

    // Contents of the trailers, in the order of their descriptors
    output trailer_t m_axis_trailer_tdata,
    output logic     m_axis_trailer_tvalid,
    input  logic     m_axis_trailer_tready,

    // Ends of frames: descriptors up to there, modulo 2^16
    output logic [15:0] m_axis_over_tdata,
    output logic        m_axis_over_tvalid,
    input  logic        m_axis_over_tready,

    output logic idle_o
);

  localparam logic [31:0] TRAILER_BYTES = 32'd64;

  typedef enum logic [2:0] {
    IDLE,     // waits for a rectangle
    LOOK,     // the MTU is looked up
    ROWS,     // offers the transfers
    TRAILER,  // offers the trailer's descriptor and contents
    OVER      // offers the end of a frame
  } state_e;

  state_e state_q, state_d;
  placed_t placed_q;
  logic [63:0] source_q, destination_q, row_source_q, row_destination_q;
  logic [31:0] left_q, length, packets_q;
  logic [15:0] rows_q, offered_q;
  logic [3:0] mtu_log2_q;
  logic taken, row_ends, bd_done_q, contents_done_q, bd_done, contents_done;

  assign length = left_q > placed_q.max_length ? placed_q.max_length : left_q;
  assign row_ends = left_q <= placed_q.max_length;
  assign taken = m_axis_bd_tvalid && m_axis_bd_tready;
  assign bd_done = bd_done_q || taken;
  assign contents_done = contents_done_q || (m_axis_trailer_tvalid && m_axis_trailer_tready);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: if (s_axis_placed_tvalid) state_d = s_axis_placed_tdata.over ? OVER : LOOK;
      LOOK: state_d = ROWS;
      ROWS: if (taken && row_ends && rows_q == 16'd1) state_d = TRAILER;
      TRAILER: if (bd_done && contents_done) state_d = IDLE;
      OVER: if (m_axis_over_tready) state_d = IDLE;
      default: state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    bd_done_q <= state_q == TRAILER && bd_done;
    contents_done_q <= state_q == TRAILER && contents_done;
    if (taken) offered_q <= offered_q + 1'b1;
    unique case (state_q)
      IDLE: begin
        placed_q <= s_axis_placed_tdata;
        source_q <= s_axis_placed_tdata.source;
        destination_q <= s_axis_placed_tdata.destination;
        row_source_q <= s_axis_placed_tdata.source;
        row_destination_q <= s_axis_placed_tdata.destination;
        left_q <= s_axis_placed_tdata.row_bytes;
        rows_q <= s_axis_placed_tdata.rows;
        packets_q <= '0;
      end
      LOOK: mtu_log2_q <= mtu_log2_i;
      ROWS:
      if (taken) begin
        packets_q <= packets_q + ((length + (32'd1 << mtu_log2_q) - 1) >> mtu_log2_q);
        source_q <= source_q + 64'(length);
        destination_q <= destination_q + 64'(length);
        left_q <= left_q - length;
        if (row_ends) begin
          source_q <= row_source_q + 64'(placed_q.source_pitch);
          destination_q <= row_destination_q + 64'(placed_q.destination_pitch);
          row_source_q <= row_source_q + 64'(placed_q.source_pitch);
          row_destination_q <= row_destination_q + 64'(placed_q.destination_pitch);
          left_q <= placed_q.row_bytes;
          rows_q <= rows_q - 1'b1;
        end
      end
      default: ;
    endcase
    if (rst) begin
      state_q   <= IDLE;
      offered_q <= '0;
    end
  end

  assign s_axis_placed_tready = state_q == IDLE;
  assign mtu_index_o = placed_q.qp;
  assign idle_o = state_q == IDLE;

  assign m_axis_bd_tvalid = state_q == ROWS || (state_q == TRAILER && !bd_done_q);
  always_comb begin
    m_axis_bd_tdata = '{
        imm: '0,
        last: 1'b0,
        destination_index: placed_q.destination_index,
        qp: placed_q.qp,
        length: length,
        destination: destination_q,
        source: source_q
    };
    if (state_q == TRAILER) begin
      m_axis_bd_tdata.imm = {placed_q.trailer.source[7:0], placed_q.trailer.frame_number[23:0]};
      m_axis_bd_tdata.last = 1'b1;
      m_axis_bd_tdata.length = TRAILER_BYTES;
      m_axis_bd_tdata.destination = placed_q.trailer_at;
      m_axis_bd_tdata.source = '0;
    end
  end

  assign m_axis_trailer_tvalid = state_q == TRAILER && !contents_done_q;
  always_comb begin
    m_axis_trailer_tdata = placed_q.trailer;
    m_axis_trailer_tdata.packets = packets_q;
  end

  logic unused;
  assign unused = ^placed_q;

  assign m_axis_over_tvalid = state_q == OVER;
  assign m_axis_over_tdata = offered_q;

endmodule
