// Packets from a PHY at 1 Gb/s, full duplex, without preamble and FCS. They cannot wait. What ends within the preamble or has no byte
// before its FCS is nothing.
module gmii_rx
  import crc32_pkg::crc_t;
  import gmii_pkg::*;
(
    input logic clk,  // the PHY's, 125 MHz
    input logic rst,

    input logic [7:0] gmii_rxd_i,
    input logic       gmii_rx_dv_i,
    input logic       gmii_rx_er_i,

    output logic [7:0] m_axis_tdata,
    output logic       m_axis_tlast,
    output logic       m_axis_tuser,  // with tlast: wrong FCS, the PHY said so, or shorter than a frame may be
    output logic       m_axis_tvalid
);

  localparam int unsigned HELD = FCS_BYTES + 1;  // bytes that wait until it is known whether they are the FCS
  localparam int unsigned COUNT_W = $clog2(MIN_BYTES + 1);

  typedef enum logic [1:0] {
    IDLE,  // or preamble
    DATA,
    LEAVE  // what has no SFD, until it ends
  } state_e;

  state_e state_q, state_d;
  logic [HELD-1:0][7:0] held_q;  // the oldest one last
  logic [COUNT_W-1:0] count_q;  // bytes behind the SFD; stays at MIN_BYTES
  crc_t crc_q;
  logic bad_q, take, ends;
  logic [7:0] data_q;
  logic valid_q, error_q;

  assign take = state_q == DATA && valid_q;
  assign ends = state_q == DATA && !valid_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      IDLE: begin
        if (valid_q && !error_q && data_q == SFD) state_d = DATA;
        else if (valid_q && (error_q || data_q != PREAMBLE)) state_d = LEAVE;
      end
      default: if (!valid_q) state_d = IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    data_q  <= gmii_rxd_i;
    valid_q <= gmii_rx_dv_i;
    error_q <= gmii_rx_er_i;
    state_q <= state_d;
    if (take) begin
      held_q <= {held_q[HELD-2:0], data_q};
      crc_q  <= crc_after(crc_q, data_q);
      bad_q  <= bad_q || error_q;
      if (count_q != COUNT_W'(MIN_BYTES)) count_q <= count_q + 1'b1;
    end
    if (state_q != DATA) begin
      crc_q   <= CRC_START;
      bad_q   <= 1'b0;
      count_q <= '0;
    end
    m_axis_tdata  <= held_q[HELD-1];
    m_axis_tlast  <= ends;
    m_axis_tuser  <= ends && (bad_q || crc_q != CRC_RIGHT || count_q != COUNT_W'(MIN_BYTES));
    m_axis_tvalid <= (take || ends) && count_q >= COUNT_W'(HELD);
    if (rst) begin
      state_q <= LEAVE;
      valid_q <= 1'b1;
      m_axis_tvalid <= 1'b0;
    end
  end

endmodule
